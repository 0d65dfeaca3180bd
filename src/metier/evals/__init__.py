"""Does a skill trigger when it should, does it help when it does, and do its scripts do what they say?

queries = read_queries(DiskFiles(folder))
report = asyncio.run(run_triggers(name, queries, Ranking(selector, entry)))
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .asking import Asking
    from .chat import Answer, Call, Chat, Endpoint, HttpChat, endpoint
    from .files import Assertion, Case, EvalFileError, Query, read_cases, read_queries
    from .grading import Grade, grade
    from .optimizing import Candidate, Optimized, optimize
    from .outputs import Evaluation, OutputReport, run_outputs
    from .proposing import CountedWords, ModelProposals, Propose
    from .ranking import Ranking, contest
    from .suites import Status, Suite, Trial, find_suites, run_suites
    from .triggers import Choice, Judge, Row, Split, TriggerReport, run_triggers
    from .workspace import Workspace

_EXPORTS = {
    "metier.evals.asking": ("Asking",),
    "metier.evals.chat": ("Answer", "Call", "Chat", "Endpoint", "HttpChat", "endpoint"),
    "metier.evals.files": ("Assertion", "EvalFileError", "Case", "Query", "read_cases", "read_queries"),
    "metier.evals.grading": ("Grade", "grade"),
    "metier.evals.optimizing": ("Candidate", "Optimized", "optimize"),
    "metier.evals.outputs": ("Evaluation", "OutputReport", "run_outputs"),
    "metier.evals.proposing": ("CountedWords", "ModelProposals", "Propose"),
    "metier.evals.ranking": ("Ranking", "contest"),
    "metier.evals.suites": ("Status", "Suite", "Trial", "find_suites", "run_suites"),
    "metier.evals.triggers": ("Choice", "Judge", "Row", "Split", "TriggerReport", "run_triggers"),
    "metier.evals.workspace": ("Workspace",),
}
__all__ = [
    "Answer",
    "Asking",
    "Assertion",
    "Call",
    "Candidate",
    "Case",
    "Chat",
    "Choice",
    "CountedWords",
    "Endpoint",
    "EvalFileError",
    "Evaluation",
    "Grade",
    "HttpChat",
    "Judge",
    "ModelProposals",
    "Optimized",
    "OutputReport",
    "Propose",
    "Query",
    "Ranking",
    "Row",
    "Split",
    "Status",
    "Suite",
    "Trial",
    "TriggerReport",
    "Workspace",
    "contest",
    "endpoint",
    "find_suites",
    "grade",
    "optimize",
    "read_cases",
    "read_queries",
    "run_outputs",
    "run_suites",
    "run_triggers",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
