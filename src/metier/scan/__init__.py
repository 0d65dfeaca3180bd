"""Is this skill safe? Rules over its files that say what it could do and what looks bad, and a verdict: pass, review or block.

    report = scan(MemoryFiles({"SKILL.md": data}))
    print(report.verdict, *report.capabilities.lines(), sep="\\n")

Pure: nothing is run, fetched or looked up, and the same bytes always give the same answer.
"""

from typing import TYPE_CHECKING

from metier.lazy import lazy_exports

if TYPE_CHECKING:
    from .opinion import NoOpinionError, Question, ask, consider
    from .report import Capabilities, Finding, Opinion, ScanReport
    from .rules import RULES, Rule
    from .scale import Confidence, Reach, Verdict
    from .scanner import scan
    from .subject import Limits
    from .waivers import Waiver, apply_waivers, read_waivers

__all__ = [
    "RULES",
    "Capabilities",
    "Confidence",
    "Finding",
    "Limits",
    "NoOpinionError",
    "Opinion",
    "Question",
    "Reach",
    "Rule",
    "ScanReport",
    "Verdict",
    "Waiver",
    "apply_waivers",
    "ask",
    "consider",
    "read_waivers",
    "scan",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.scan.opinion": ("NoOpinionError", "Question", "ask", "consider"),
            "metier.scan.report": ("Capabilities", "Finding", "Opinion", "ScanReport"),
            "metier.scan.rules": ("RULES", "Rule"),
            "metier.scan.scale": ("Confidence", "Reach", "Verdict"),
            "metier.scan.scanner": ("scan",),
            "metier.scan.subject": ("Limits",),
            "metier.scan.waivers": ("Waiver", "apply_waivers", "read_waivers"),
        },
    )
