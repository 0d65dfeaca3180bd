"""The report of a skill's behaviour, and how it changes the report of the scan."""

from __future__ import annotations

from enum import StrEnum

from metier.scan import Confidence, Finding, ScanReport, ScanVerdict
from metier.spec import EVERYDAY_COMMANDS, Capabilities, package_name
from metier.values import dataclass, field, replace

__all__ = ["BehaviourOutcome", "BehaviourReport", "SentSecret", "with_behaviour"]


class BehaviourOutcome(StrEnum):
    FOUND = "found"
    """It did something that the rules report."""
    UNDECIDED = "not decided"
    CLEAN = "clean"
    NOTHING = "nothing to run"


@dataclass(frozen=True, slots=True, kw_only=True)
class SentSecret:
    """The proof that a value of the made-up home left the run."""

    what: str
    """The file or variable."""
    host: str
    form: str
    run: str
    sample: str
    """The request or the first bytes, as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourReport:
    """The behaviour of a skill that was run."""

    findings: tuple[Finding, ...] = ()
    undecided: tuple[str, ...] = ()
    """Why "clean" cannot be said."""
    steps: int = 0
    seconds: float = 0
    hosts: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    """Files outside the skill and the project, below the home as ~."""
    writes: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    sent: tuple[SentSecret, ...] = ()
    cpu: float = 0
    """Seconds of processor time inside the sandbox."""
    slept: int = 0
    """Seconds of the longest sleep, which was skipped."""
    differences: tuple[str, ...] = ()
    """Behaviour that only one of the runs showed."""
    finished: frozenset[str] = field(default=frozenset())
    """Files of which a step ended without an error."""

    @property
    def outcome(self) -> BehaviourOutcome:
        if any(finding.verdict is not ScanVerdict.PASS for finding in self.findings):
            return BehaviourOutcome.FOUND
        if self.undecided:
            return BehaviourOutcome.UNDECIDED
        return BehaviourOutcome.CLEAN if self.steps else BehaviourOutcome.NOTHING


def with_behaviour(report: ScanReport, seen: BehaviourReport) -> ScanReport:
    """Adds what was observed to the report of the rules, and adjusts the rules' findings: docs/behaviour.md has the table."""
    seen_kinds = {_KINDS[finding.code] for finding in seen.findings if finding.confidence is not Confidence.LOW}
    is_clean = seen.outcome is BehaviourOutcome.CLEAN
    adjusted = []
    for finding in report.findings:
        category = finding.rule.category
        if any(category in kinds for kinds in seen_kinds) and finding.confidence is Confidence.MEDIUM:
            finding = replace(finding, confidence=Confidence.HIGH)
        elif is_clean and category in _RUNNABLE and finding.file in seen.finished and not finding.by:
            finding = replace(finding, confidence=finding.confidence.lowered())
        adjusted.append(finding)
    findings = sorted([*adjusted, *seen.findings], key=lambda finding: finding.order)
    done = Capabilities.of({
        "hosts": seen.hosts, "processes": (each for each in seen.programs if each not in EVERYDAY_COMMANDS),
        "reads": seen.reads, "writes": seen.writes, "packages": map(package_name, seen.packages),
    })  # fmt: skip
    return replace(report, findings=tuple(findings), capabilities=report.capabilities | done, used=report.used | done)


_RUNNABLE = frozenset(
    ("download-and-execute", "persistence", "destructive", "credential-access", "exfiltration", "resource-abuse", "obfuscation")
)
"""Categories of what code does. Words to an agent are not refuted by a run."""
_KINDS = {
    "SK921": ("exfiltration", "credential-access"), "SK922": ("download-and-execute", "obfuscation"),
    "SK923": ("download-and-execute",), "SK924": ("persistence",), "SK925": ("destructive",), "SK926": ("credential-access",),
    "SK927": ("exfiltration", "credential-access"), "SK928": ("injection", "persistence"), "SK929": ("persistence",),
    "SK930": (), "SK931": (), "SK542": ("resource-abuse",),
}  # fmt: skip
