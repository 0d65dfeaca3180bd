"""The result of a scan: findings, capabilities, and a verdict, which is that of the worst finding."""

from __future__ import annotations

from metier.spec import Capabilities, Problem, Report, Severity
from metier.values import dataclass, field

from .rules.table import RULES, Rule
from .scale import Confidence, ScanReach, ScanVerdict, severity_of, verdict_for

__all__ = ["Finding", "ModelOpinion", "ScanReport"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One match of one rule at one place."""

    code: str
    message: str
    confidence: Confidence
    reach: ScanReach
    file: str = "SKILL.md"
    line: int | None = None
    column: int | None = None
    excerpt: str = ""
    """The matched text: one line, shortened, control characters escaped."""
    waived: str = ""
    """The reason of the waiver that covers it; empty without one."""
    by: str = ""
    """The model that reported it; empty for a rule."""

    @property
    def rule(self) -> Rule:
        """The rule that explains it."""
        return RULES[self.code]

    @property
    def verdict(self) -> ScanVerdict:
        return ScanVerdict.PASS if self.waived else verdict_for(self.confidence, self.reach)

    @property
    def severity(self) -> Severity:
        return severity_of(self.verdict)

    @property
    def problem(self) -> Problem:
        """The finding in the form that validate and lint use."""
        return Problem(
            code=self.code, severity=self.severity, message=self.message, hint=self.rule.hint,
            file=self.file, line=self.line, column=self.column,
        )  # fmt: skip

    @property
    def order(self) -> tuple[int, str, int, int, str, str]:
        return (-self.severity.rank, self.file, self.line or 0, self.column or 0, self.code, self.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOpinion:
    """A model's opinion of a skill; see `model_opinion`."""

    model: str
    verdict: ScanVerdict
    """The model's own verdict. Its findings decide."""
    findings: tuple[Finding, ...] = ()
    discarded: int = 0
    """Findings whose quotes are not in the files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanReport:
    findings: tuple[Finding, ...] = ()
    """The most severe first, then in the order of files and lines."""
    capabilities: Capabilities = field(default_factory=Capabilities)
    """Read from its files and its manifest. All are inferred; none is granted."""
    used: Capabilities = field(default_factory=Capabilities)
    """Only what its files do."""
    files: int = 0
    """The number of files read."""
    opinion: ModelOpinion | None = None
    """The opinion of a model, if one was asked. Its findings are among the others."""

    @property
    def verdict(self) -> ScanVerdict:
        return max((finding.verdict for finding in self.findings), key=lambda one: one.rank, default=ScanVerdict.PASS)

    @property
    def rules_verdict(self) -> ScanVerdict:
        """The verdict without a model's findings and without those of a run."""
        own = (finding.verdict for finding in self.findings if not finding.by and finding.rule.category != "observed")
        return max(own, key=lambda one: one.rank, default=ScanVerdict.PASS)

    @property
    def is_disputed(self) -> bool:
        """True if a model gave another verdict than the rules."""
        return self.opinion is not None and self.opinion.verdict is not self.rules_verdict

    @property
    def reach(self) -> ScanReach:
        """The blast radius of the findings that made the verdict."""
        counted = (finding.reach for finding in self.findings if finding.verdict is self.verdict and not finding.waived)
        return max(counted, key=lambda one: one.rank, default=ScanReach.SKILL)

    @property
    def report(self) -> Report:
        """The findings that are not waived, in the form of validate and lint; `.ok` means that nothing is blocked."""
        return Report.of(finding.problem for finding in self.findings if not finding.waived)
