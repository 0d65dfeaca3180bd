"""The values that fetchers return, and the protocols of fetchers and scanners that installing uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from metier.errors import MetierError, RefusedError
from metier.values import dataclass, field

if TYPE_CHECKING:
    from metier.scan import ScanReport
    from metier.spec import Files, Manifest, ParseResult

    from .fetch.repository import FoundSkill
    from .lock.lock_file import LockEntry, Origin

__all__ = ["FetchResult", "Fetched", "FetchedSkill", "Fetcher", "NewestVersion", "Scan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedSkill:
    """A skill in memory; nothing is written to its target yet."""

    name: str
    """The name in its frontmatter, or the nearest valid one."""
    files: Files
    digest: str
    """sha256:… over the contents; see `metier.archive.digest`."""
    origin: Origin
    parsed: ParseResult | None = field(default=None, compare=False, repr=False)
    """The strict parse of its SKILL.md, where the search for skills made one."""
    published: float | None = field(default=None, compare=False)
    """When the source says that this version appeared, in seconds since 1970; see `fetch.cooldown`."""
    too_new: RefusedError | None = field(default=None, compare=False, repr=False)
    """Set if the cool-down holds this version back."""
    held: str = field(default="", compare=False)
    """The newer version that the cool-down holds back in favour of this one, and until when."""
    tags: tuple[str, str] = field(default=("", ""), compare=False)
    """The tags of the locked commit and of this one, where a repository has them."""
    signed_by: tuple[str, ...] = field(default=(), compare=False)
    """The signers that its source demands."""
    bundle_signers: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The signers of a signature beside the files, as in an OCI registry, by `SignaturePolicy.key`."""
    bundle_problem: str = field(default="", compare=False)
    """The reason why such a signature is not accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The skills of one ref."""

    skills: tuple[FetchedSkill, ...]
    warnings: tuple[str, ...] = ()
    offered: tuple[FoundSkill, ...] = ()
    """Everything that the source has, of which `skills` were chosen."""
    elsewhere: tuple[str, ...] = ()
    """Refs of skills that a marketplace keeps in other repositories."""


FetchResult = FetchedSkill | MetierError
"""One skill of several, or the error that replaces it; the other skills are fetched all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestVersion:
    """The newest version of one locked skill, as far as its source tells without a download."""

    commit: str = ""
    digest: str = ""
    """Empty where only the commit is known: a new commit may or may not change the skill."""
    version: str = ""
    tags: tuple[str, str] = ("", "")
    """The tags of the locked commit and of this one, where a repository has them."""
    published: tuple[float | None, float | None] = (None, None)
    """When the locked version and this one appeared, in seconds since 1970."""
    exact: str = ""
    """The exact version that the user asked for, if this is a newer one that an update does not take."""
    problem: str = ""
    """The reason why the source could not be asked, or no longer has the skill."""
    held: str = ""
    """The newer version that is held back by the cool-down, and until when."""


class Fetcher(Protocol):
    def exact(self, entries: Sequence[LockEntry]) -> Sequence[FetchResult]:
        """Fetches the locked versions, from the cache where it has them. Each source is asked once."""

    def latest(self, entries: Sequence[LockEntry]) -> Sequence[FetchResult]:
        """Fetches the current versions of the refs that the user asked for."""

    def newest(self, entries: Sequence[LockEntry]) -> Sequence[NewestVersion]:
        """Looks up the newest versions without fetching them. Each source is asked once, all in parallel."""

    def beside(self, entry: LockEntry, names: Sequence[str]) -> Fetched:
        """Fetches those of the named skills that the same source has, at the same commit."""


class Scan(Protocol):
    def __call__(self, files: Files, *, folder: str, manifest: Manifest | None = None) -> ScanReport | None:
        """Returns the scan report. Of content that passed before it may have only the capabilities; None without a scan.

        `manifest` saves parsing SKILL.md again.
        """
