"""Does a skill trigger when it should, does it help when it does, and do its scripts do what they say?

queries = read_queries(DiskFiles(folder))
report = asyncio.run(run_triggers(name, queries, Ranking(selector, entry)))
"""

from __future__ import annotations

from metier.lazy import on_demand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .conflicts import Conflict, conflicts
    from .files import Assertion, BadEvals, Case, Query, read_cases, read_queries
    from .ranking import Ranking, contest
    from .suites import Status, Suite, Trial, find_suites, run_suites
    from .triggers import Choice, Judge, Row, Split, TriggerReport, run_triggers

_ROOMS = {
    "metier.evals.conflicts": ("Conflict", "conflicts"),
    "metier.evals.files": ("Assertion", "BadEvals", "Case", "Query", "read_cases", "read_queries"),
    "metier.evals.ranking": ("Ranking", "contest"),
    "metier.evals.suites": ("Status", "Trial", "Suite", "find_suites", "run_suites"),
    "metier.evals.triggers": ("Choice", "Judge", "Row", "Split", "TriggerReport", "run_triggers"),
}
__all__ = [
    "Assertion",
    "BadEvals",
    "Case",
    "Choice",
    "Conflict",
    "Judge",
    "Query",
    "Ranking",
    "Row",
    "Split",
    "Status",
    "Suite",
    "Trial",
    "TriggerReport",
    "conflicts",
    "contest",
    "find_suites",
    "read_cases",
    "read_queries",
    "run_suites",
    "run_triggers",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = on_demand(__name__, _ROOMS)
