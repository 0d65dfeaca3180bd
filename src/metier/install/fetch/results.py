"""What a fetcher brings: skills as values, with where they came from. Nothing here has touched the target machine's disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metier.values import dataclass, field

if TYPE_CHECKING:
    from metier.spec import Files, ParseResult

    from .repository import FoundSkill

__all__ = ["Fetched", "FetchedSkill", "Origin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Identity: the source and the path in it. Two skills of one name from two origins are two skills."""

    kind: str
    """git, http, well-known, registry, path or archive."""
    url: str
    """Without credentials."""
    path: str = ""
    """Of the skill inside the source."""
    ref: str = ""
    """What was asked for: a branch, tag, version, or empty for the default."""
    commit: str = ""
    """What it was resolved to, where the source has such a thing."""
    etag: str = ""
    version: str = ""
    """Of a registry, the version that its server gave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedSkill:
    name: str
    """From its frontmatter, leniently read."""
    files: Files
    digest: str
    """sha256:… over the contents; see `metier.archive.digest`."""
    origin: Origin
    parsed: ParseResult | None = field(default=None, compare=False, repr=False)
    """The parse of its SKILL.md under the strict verdict, where the fetcher has made one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    skills: tuple[FetchedSkill, ...]
    warnings: tuple[str, ...] = ()
    offered: tuple[FoundSkill, ...] = ()
    """Everything that the source has, of which `skills` were chosen."""
    elsewhere: tuple[str, ...] = ()
    """Refs of skills that a marketplace keeps in other repositories."""
