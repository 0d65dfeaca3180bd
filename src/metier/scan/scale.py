"""Two scales and the table between them: how sure are we, how far would it reach, and so what should be done?

Sure and far is a block, unsure and far a review, and whatever stays inside the skill's own folder is only noted.
"""

from __future__ import annotations

from enum import StrEnum

from metier.spec import Severity

__all__ = ["Confidence", "ScanReach", "ScanVerdict", "severity_of", "verdict_for"]


class Confidence(StrEnum):
    LOW = "low"
    """The shape is common in honest skills."""
    MEDIUM = "medium"
    """Honest skills rarely do it, and some have a reason to."""
    HIGH = "high"
    """No honest skill of ten thousand had a reason to."""

    @property
    def rank(self) -> int:
        return ("low", "medium", "high").index(self.value)

    def lowered(self, by: int = 1) -> Confidence:
        return tuple(Confidence)[max(0, self.rank - by)]


class ScanReach(StrEnum):
    """The blast radius."""

    SKILL = "skill"
    """The skill's own folder and answer."""
    PROJECT = "project"
    """The work in hand: the user's project and documents."""
    MACHINE = "machine"
    """Everything the user may touch on this machine, now or after a restart."""
    ACCOUNTS = "accounts"
    """What no reinstall brings back: keys, money, data that has left, other people."""

    @property
    def rank(self) -> int:
        return ("skill", "project", "machine", "accounts").index(self.value)


class ScanVerdict(StrEnum):
    PASS = "pass"  # noqa: S105 - a verdict, not a password
    REVIEW = "review"
    """A person should read the findings before the skill is used."""
    BLOCK = "block"

    @property
    def rank(self) -> int:
        return ("pass", "review", "block").index(self.value)


def verdict_for(confidence: Confidence, reach: ScanReach) -> ScanVerdict:
    if reach is ScanReach.SKILL or confidence is Confidence.LOW:
        return ScanVerdict.PASS
    if reach is ScanReach.PROJECT:
        return ScanVerdict.REVIEW if confidence is Confidence.HIGH else ScanVerdict.PASS
    return ScanVerdict.BLOCK if confidence is Confidence.HIGH else ScanVerdict.REVIEW


def severity_of(verdict: ScanVerdict) -> Severity:
    """The same as validate and lint weigh it."""
    return {ScanVerdict.PASS: Severity.INFO, ScanVerdict.REVIEW: Severity.WARNING, ScanVerdict.BLOCK: Severity.ERROR}[verdict]
