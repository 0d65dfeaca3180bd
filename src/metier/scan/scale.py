"""The scales of a finding, confidence and reach, and the verdict that follows from both.

High confidence and far reach block, lower confidence and far reach ask for a review, and what stays inside the skill's own
folder passes.
"""

from __future__ import annotations

from enum import StrEnum

from metier.spec import Severity

__all__ = ["Confidence", "ScanReach", "ScanVerdict", "severity_of", "verdict_for"]


class Confidence(StrEnum):
    LOW = "low"
    """The pattern is common in honest skills."""
    MEDIUM = "medium"
    """The pattern is rare in honest skills, and some have a reason for it."""
    HIGH = "high"
    """No honest skill of ten thousand has a reason for it."""

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
    """The user's project and documents."""
    MACHINE = "machine"
    """Everything the user can access on this machine, now or after a restart."""
    ACCOUNTS = "accounts"
    """What cannot be restored: keys, money, data that was sent, other people."""

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
    """Returns the matching severity of validate and lint."""
    return {ScanVerdict.PASS: Severity.INFO, ScanVerdict.REVIEW: Severity.WARNING, ScanVerdict.BLOCK: Severity.ERROR}[verdict]
