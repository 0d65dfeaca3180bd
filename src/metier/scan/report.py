"""What a scan answers: findings, what the skill could do, and one verdict, which is that of its worst finding."""

from __future__ import annotations

from metier.spec import Problem, Report, Severity
from metier.values import dataclass, field

from .rules.table import RULES, Rule
from .scale import Confidence, ScanReach, ScanVerdict, severity_of, verdict_for

__all__ = ["Capabilities", "Finding", "ModelOpinion", "ScanReport"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One place in one file where one rule has something to say."""

    code: str
    message: str
    confidence: Confidence
    reach: ScanReach
    file: str = "SKILL.md"
    line: int | None = None
    column: int | None = None
    excerpt: str = ""
    """The matched text, on one line, cut, and without characters that a terminal would obey."""
    waived: str = ""
    """The reason somebody gave for living with it; empty where nobody did."""
    by: str = ""
    """The model that says so; empty for a rule."""

    @property
    def rule(self) -> Rule:
        """Why it matters, what to do, and what others call it."""
        return RULES[self.code]

    @property
    def verdict(self) -> ScanVerdict:
        return ScanVerdict.PASS if self.waived else verdict_for(self.confidence, self.reach)

    @property
    def severity(self) -> Severity:
        return severity_of(self.verdict)

    @property
    def problem(self) -> Problem:
        """The same as validate and lint would say it."""
        return Problem(
            code=self.code, severity=self.severity, message=self.message, hint=self.rule.hint,
            file=self.file, line=self.line, column=self.column,
        )  # fmt: skip

    @property
    def order(self) -> tuple[int, str, int, int, str, str]:
        return (-self.severity.rank, self.file, self.line or 0, self.column or 0, self.code, self.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What the skill's scripts and commands could do, as a list that a person can read. All inferred, none granted."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    """Hosts, as far as they are written out."""
    processes: tuple[str, ...] = ()
    """Programs it starts or tells an agent to start."""
    secrets: tuple[str, ...] = ()
    """Names of keys it asks the environment for, and places of credentials it looks into."""

    def lines(self, most: int = 8) -> tuple[str, ...]:
        """One line for each kind that is not empty, such as `network: api.example.com, pypi.org and 3 more`."""
        return tuple(f"{name}: {_enumerated(getattr(self, name), most)}" for name in self.__slots__ if getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOpinion:
    """What a model said of a skill, as far as it counts; see `opinion`."""

    model: str
    verdict: ScanVerdict
    """Its own word. What decides are its findings."""
    findings: tuple[Finding, ...] = ()
    discarded: int = 0
    """Findings that quoted what does not stand in the files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanReport:
    findings: tuple[Finding, ...] = ()
    """The gravest first, then in the order of files and lines."""
    capabilities: Capabilities = field(default_factory=Capabilities)
    files: int = 0
    """How many files were read."""
    opinion: ModelOpinion | None = None
    """A model's, where one was asked; its findings are among the others."""

    @property
    def verdict(self) -> ScanVerdict:
        return max((finding.verdict for finding in self.findings), key=lambda one: one.rank, default=ScanVerdict.PASS)

    @property
    def reach(self) -> ScanReach:
        """The blast radius: how far the findings that made the verdict would reach."""
        counted = (finding.reach for finding in self.findings if finding.verdict is self.verdict and not finding.waived)
        return max(counted, key=lambda one: one.rank, default=ScanReach.SKILL)

    @property
    def report(self) -> Report:
        """The findings that nobody waived, as validate and lint report; `.ok` means that nothing is blocked."""
        return Report.of(finding.problem for finding in self.findings if not finding.waived)


def _enumerated(names: tuple[str, ...], most: int) -> str:
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
