"""The sandbox: isolation levels, the probe that finds those of this machine, and the processes that run scripts.

`metier.runtime.Runner` runs scripts in it. This face is for programs that only want to know the levels of a machine.
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .isolation import Guard, Isolation, IsolationLevel
    from .plan import SandboxFeatures
    from .probe import ProbeResult, detect_features, probe_level
    from .program import ConfinedProgram, namespace_problem, readable_of, system_call_filter

_EXPORTS = {
    "metier.runtime.sandbox.isolation": ("Guard", "Isolation", "IsolationLevel"),
    "metier.runtime.sandbox.plan": ("SandboxFeatures",),
    "metier.runtime.sandbox.probe": ("ProbeResult", "detect_features", "probe_level"),
    "metier.runtime.sandbox.program": ("ConfinedProgram", "namespace_problem", "readable_of", "system_call_filter"),
}
__all__ = [
    "ConfinedProgram",
    "Guard",
    "Isolation",
    "IsolationLevel",
    "ProbeResult",
    "SandboxFeatures",
    "detect_features",
    "namespace_problem",
    "probe_level",
    "readable_of",
    "system_call_filter",
]

if not TYPE_CHECKING:  # a type checker reads the imports above and finds a misspelled name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
