"""Merges the edits of an installed skill with its new version, file by file. Pure: the merge of two texts is passed in.

A file that only one side changed, added or deleted becomes what that side made of it. Where both changed a text, their changes
are joined, and lines that both changed are marked. Other files that both changed are conflicts without marks: your file stays,
and a file that only one side deleted stays too. A renamed file keeps the edits that the other side made under the old name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum

from metier.archive import Contents, Link, Member
from metier.values import dataclass, field, replace

from .lock.lock_file import Hashes

__all__ = [
    "MergeConflict",
    "MergeReason",
    "MergeSide",
    "MergeText",
    "SkillMerge",
    "contents_of",
    "has_marks",
    "merge_contents",
    "nodes_of",
    "take_side",
]

MergeText = Callable[[bytes, bytes, bytes], tuple[bytes, bool]]
"""Base, yours, theirs -> the merged text, and whether conflicts are marked in it."""
Node = Member | Link

_MARKS = re.compile(
    rb"^<{7} yours\r?\n(?P<yours>.*?)^={7}\r?\n(?P<theirs>.*?)^>{7} theirs(?:\r?\n|\Z)", re.MULTILINE | re.DOTALL
)
_SIMILAR = 0.5
_LONGEST = 200_000


class MergeSide(StrEnum):
    YOURS = "yours"
    THEIRS = "theirs"


class MergeReason(StrEnum):
    """Why a file could not be merged."""

    LINES = "both changed the same lines"
    BINARY = "both changed it, and it is not text"
    DELETED_HERE = "deleted here, changed in the new version"
    DELETED_THERE = "changed here, deleted in the new version"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeConflict:
    path: str
    reason: MergeReason


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillMerge:
    """The edits of a skill, merged with its new version."""

    files: Contents
    yours: Hashes
    """The edited files that were merged. The merge is void if they have changed since."""
    merged: tuple[str, ...] = ()
    """Files that have changes of both sides."""
    conflicts: tuple[MergeConflict, ...] = ()


def merge_contents(
    base: Contents | None, yours: Contents, theirs: Contents, merge_text: MergeText, *, side: MergeSide | None = None
) -> SkillMerge:
    """Merges `yours` and `theirs`, which were both made from `base`. `side` decides conflicts without marks.

    Without a base every difference is a conflict.
    """
    merger = _Merger(nodes_of(base) if base else {}, nodes_of(yours), nodes_of(theirs), merge_text, side)
    return SkillMerge(
        files=contents_of(merger.merge()), yours=yours.hashes, merged=tuple(sorted(merger.merged)),
        conflicts=tuple(sorted(merger.conflicts, key=lambda one: one.path)),
    )  # fmt: skip


def nodes_of(contents: Contents) -> dict[str, Node]:
    nodes: list[Node] = [*contents.members, *contents.links]
    return {node.path: node for node in nodes}


def contents_of(nodes: Mapping[str, Node]) -> Contents:
    """Raises RefusedError if one of the files has the path of another one's folder."""
    return Contents(
        (node for node in nodes.values() if isinstance(node, Member)),
        (node for node in nodes.values() if isinstance(node, Link)),
    )


def has_marks(data: bytes) -> bool:
    return _MARKS.search(data) is not None


def take_side(data: bytes, side: MergeSide) -> bytes:
    """Replaces each marked conflict by the lines of one side."""
    return _MARKS.sub(lambda found: found[side.value], data)


@dataclass(slots=True)
class _Merger:
    base: Mapping[str, Node]
    yours: dict[str, Node]
    theirs: dict[str, Node]
    merge_text: MergeText
    side: MergeSide | None
    merged: set[str] = field(default_factory=set)
    conflicts: list[MergeConflict] = field(default_factory=list)

    def merge(self) -> dict[str, Node]:
        before = self._follow_renames()
        paths = sorted(before.keys() | self.yours.keys() | self.theirs.keys())
        found = ((path, self._node(path, before.get(path))) for path in paths)
        return {path: node for path, node in found if node is not None}

    def _follow_renames(self) -> dict[str, Node]:
        """Moves the base and the other side's edits of a renamed file to its new path."""
        before = dict(self.base)
        for mover, other in ((self.theirs, self.yours), (self.yours, self.theirs)):
            for old, new in _renames(self.base, mover, other):
                before[new] = _at(before.pop(old), new)
                other[new] = _at(other.pop(old), new)
        return before

    def _node(self, path: str, base: Node | None) -> Node | None:
        yours, theirs = self.yours.get(path), self.theirs.get(path)
        if yours == theirs or base == theirs:
            return yours
        if base == yours:
            return theirs
        if yours is None or theirs is None:
            reason = MergeReason.DELETED_HERE if yours is None else MergeReason.DELETED_THERE
            return self._whole(path, yours, theirs, reason)
        if not (isinstance(yours, Member) and isinstance(theirs, Member)):
            return self._whole(path, yours, theirs, MergeReason.BINARY)
        old = base if isinstance(base, Member) else None
        is_executable = theirs.executable if old and old.executable == yours.executable else yours.executable
        if yours.data == theirs.data or (old and old.data == theirs.data):
            return replace(yours, executable=is_executable)
        if old and old.data == yours.data:
            return replace(theirs, executable=is_executable)
        if any(b"\0" in each.data for each in (yours, theirs, old or yours)):
            return self._whole(path, yours, theirs, MergeReason.BINARY)
        data, has_conflicts = self.merge_text(old.data if old else b"", yours.data, theirs.data)
        self.merged.add(path)
        if has_conflicts:
            self.conflicts.append(MergeConflict(path=path, reason=MergeReason.LINES))
        return Member(path, data, is_executable)

    def _whole(self, path: str, yours: Node | None, theirs: Node | None, reason: MergeReason) -> Node | None:
        if self.side is not None:
            return yours if self.side is MergeSide.YOURS else theirs
        self.conflicts.append(MergeConflict(path=path, reason=reason))
        return yours or theirs


def _at(node: Node, path: str) -> Node:
    return replace(node, path=path)


def _renames(base: Mapping[str, Node], mover: Mapping[str, Node], other: Mapping[str, Node]) -> Iterator[tuple[str, str]]:
    """Yields the old and new path of files that `mover` renamed and `other` edited."""
    added = [node for path, node in mover.items() if path not in base and path not in other and isinstance(node, Member)]
    for path, old in base.items():
        edited = other.get(path)
        if path in mover or edited is None or edited == old or not isinstance(old, Member) or not isinstance(edited, Member):
            continue
        best = max(added, key=lambda node: _similarity(old, node), default=None)
        if best is not None and _similarity(old, best) > _SIMILAR:
            added.remove(best)
            yield path, best.path


def _similarity(one: Member, other: Member) -> float:
    if one.data == other.data:
        return 1.0
    if b"\0" in one.data + other.data or max(len(one.data), len(other.data)) > _LONGEST:
        return 0.0
    # Imported here: only a renamed file is compared so.
    from difflib import SequenceMatcher

    return SequenceMatcher(None, one.data.splitlines(), other.data.splitlines()).ratio()
