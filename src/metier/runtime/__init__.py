"""A conversation with skills: activate them, read their files, run their scripts confined, and say what happened.

session = Session(metier.discover("skills"))
session.activate("fill-forms").text       # what a model gets
for tool in session.tools(): ...          # what it can call
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .activation import Activation, Active, By, Mode
    from .approvals import Approval, Approvals, FileApprovals, MemoryApprovals
    from .digest import tree_digest
    from .events import Bus, Event
    from .host import Host, Options, ScriptRunner, Selects
    from .launching import Launch
    from .limits import Limits, Run
    from .mistakes import BadArgumentsError, NotActiveError, OverBudgetError
    from .outcome import Isolation, Level, Outcome, Produced
    from .patterns import Pattern, Request
    from .permissions import Answer, Decision, Permissions, Policy, Question, Verdict
    from .session import Session
    from .store import MemoryStore, SqliteStore, Store
    from .tool import Reply, Tool
    from .usage import Allowance, Budgets, Usage

_EXPORTS = {
    "metier.runtime.activation": ("Activation", "Active", "By", "Mode"),
    "metier.runtime.approvals": ("Approval", "Approvals", "FileApprovals", "MemoryApprovals"),
    "metier.runtime.digest": ("tree_digest",),
    "metier.runtime.events": ("Bus", "Event"),
    "metier.runtime.host": ("Host", "Options", "ScriptRunner", "Selects"),
    "metier.runtime.launching": ("Launch",),
    "metier.runtime.limits": ("Limits", "Run"),
    "metier.runtime.mistakes": ("BadArgumentsError", "NotActiveError", "OverBudgetError"),
    "metier.runtime.outcome": ("Isolation", "Level", "Outcome", "Produced"),
    "metier.runtime.patterns": ("Pattern", "Request"),
    "metier.runtime.permissions": ("Answer", "Decision", "Permissions", "Policy", "Question", "Verdict"),
    "metier.runtime.session": ("Session",),
    "metier.runtime.store": ("MemoryStore", "SqliteStore", "Store"),
    "metier.runtime.tool": ("Reply", "Tool"),
    "metier.runtime.usage": ("Allowance", "Budgets", "Usage"),
}
__all__ = [
    "Activation",
    "Active",
    "Allowance",
    "Answer",
    "Approval",
    "Approvals",
    "BadArgumentsError",
    "Budgets",
    "Bus",
    "By",
    "Decision",
    "Event",
    "FileApprovals",
    "Host",
    "Isolation",
    "Launch",
    "Level",
    "Limits",
    "MemoryApprovals",
    "MemoryStore",
    "Mode",
    "NotActiveError",
    "Options",
    "Outcome",
    "OverBudgetError",
    "Pattern",
    "Permissions",
    "Policy",
    "Produced",
    "Question",
    "Reply",
    "Request",
    "Run",
    "ScriptRunner",
    "Selects",
    "Session",
    "SqliteStore",
    "Store",
    "Tool",
    "Usage",
    "Verdict",
    "tree_digest",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
