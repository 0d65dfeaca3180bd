"""A place with many files, of which some are skills: a commit, an unpacked archive, a folder on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from metier.archive import SKILL_LIMITS, ArchiveLimits, Contents
from metier.values import dataclass

__all__ = ["ContentsTree", "Node", "SkillTree"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    kind: str
    """`file`, `executable`, `link` or `submodule`."""
    key: str = ""
    """What its tree finds the bytes by."""


class SkillTree(Protocol):
    """What the search for skills needs. Paths have forward slashes and no leading one."""

    @property
    def nodes(self) -> Mapping[str, Node]:
        """Everything that is not a folder, by path."""

    def prefetch(self, paths: Iterable[str]) -> None:
        """These will be read next."""

    def read(self, path: str, *, limit: int) -> bytes:
        """The bytes of one file."""

    def contents(self, folder: str, *, leave_out: Iterable[str] = (), limits: ArchiveLimits = SKILL_LIMITS) -> Contents:
        """One folder whole, without what is called like one of `leave_out`."""


class ContentsTree:
    """An archive that was unpacked in memory."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        files = {member.path: Node(kind="executable" if member.executable else "file") for member in contents.members}
        self._nodes = files | {link.path: Node(kind="link") for link in contents.links}

    @property
    def nodes(self) -> Mapping[str, Node]:
        return self._nodes

    def prefetch(self, paths: Iterable[str]) -> None:
        """It is all here."""

    def read(self, path: str, *, limit: int) -> bytes:
        return self._contents.read(path, limit=limit)

    def contents(self, folder: str, *, leave_out: Iterable[str] = (), limits: ArchiveLimits = SKILL_LIMITS) -> Contents:
        return self._contents.below(folder, limits=limits).without(leave_out)
