"""What installing asks of whoever brings skills and whoever judges them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from metier.errors import MetierError
from metier.spec import Files
from metier.values import dataclass

from .fetch.results import Fetched, FetchedSkill
from .lock.lock_file import LockEntry

if TYPE_CHECKING:
    from metier.scan import ScanReport

__all__ = ["FetchResult", "Fetcher", "NewestVersion", "Scan"]

FetchResult = FetchedSkill | MetierError
"""One of several: an error stands in its place, and the others still come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestVersion:
    """What a source has now for one locked skill, as far as asking it once can tell."""

    commit: str = ""
    digest: str = ""
    """Empty where only the commit is known: then another commit may or may not mean another skill."""
    version: str = ""
    problem: str = ""
    """Why the source could not be asked, or no longer has the skill."""


class Fetcher(Protocol):
    def exact(self, entries: Sequence[LockEntry]) -> Sequence[FetchResult]:
        """The skills at the commits they were locked at, from the cache where it has them; each source is asked once."""

    def latest(self, entries: Sequence[LockEntry]) -> Sequence[FetchResult]:
        """The skills as their sources have them now, for the refs that were asked for."""

    def newest(self, entries: Sequence[LockEntry]) -> Sequence[NewestVersion]:
        """What the sources have, without bringing it. Each remote is asked once, all of them at the same time."""

    def beside(self, entry: LockEntry, names: Sequence[str]) -> Fetched:
        """Those of these skills that the same source has, at the same commit."""


class Scan(Protocol):
    def __call__(self, files: Files, *, folder: str) -> ScanReport | None:
        """What a skill could do and what looks bad about it; None if there is nothing to say."""
