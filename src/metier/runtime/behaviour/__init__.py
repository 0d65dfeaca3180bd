"""Behaviour of a skill: it is run in the sandbox, in a made-up home and on a network that leads nowhere.

    report = asyncio.run(observe_skill(DiskFiles("skills/fill-forms"), "fill-forms"))
    print(report.outcome, *report.findings)

`with_behaviour` joins the result with that of the scan.
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .judgement import judge
    from .observe import ObserveOptions, observe, observe_skill, require_isolation
    from .report import BehaviourOutcome, BehaviourReport, SentSecret, with_behaviour

_EXPORTS = {
    "metier.runtime.behaviour.judgement": ("judge",),
    "metier.runtime.behaviour.report": ("BehaviourOutcome", "BehaviourReport", "SentSecret", "with_behaviour"),
    "metier.runtime.behaviour.observe": ("ObserveOptions", "observe", "observe_skill", "require_isolation"),
}

__all__ = [
    "BehaviourOutcome",
    "BehaviourReport",
    "ObserveOptions",
    "SentSecret",
    "judge",
    "observe",
    "observe_skill",
    "require_isolation",
    "with_behaviour",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
