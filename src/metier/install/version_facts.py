"""The words for a version of a skill: its version, else its tag, its date, or its commit."""

from __future__ import annotations

import time

from metier.values import dataclass

__all__ = ["VersionFacts", "describe_change"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionFacts:
    """What is known of one version of a skill."""

    version: str = ""
    tag: str = ""
    published: float | None = None
    """In seconds since 1970."""
    commit: str = ""

    @property
    def date(self) -> str:
        return time.strftime("%Y-%m-%d", time.gmtime(self.published)) if self.published else ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the version, the clearest first; empty where there is none."""
        return self.version, self.tag, self.date, self.commit[:10]

    def __str__(self) -> str:
        return next(filter(None, self.labels), "")


def describe_change(old: VersionFacts, new: VersionFacts) -> str:
    """Returns `1.0.0 -> 1.1.0`, with the clearest names that tell the two apart; empty if none does."""
    for before, after in zip(old.labels, new.labels, strict=True):
        if before and after and before != after:
            return f"{before} -> {after}"
    return f"{old} -> {new}" if str(old) and str(new) and str(old) != str(new) else ""
