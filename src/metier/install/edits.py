"""The edits that a user made to an installed skill: finds them, merges them with a new version, resolves what was left open."""

from __future__ import annotations

import os

from metier.archive import Contents, Member, read_contents
from metier.errors import ConflictError, MetierError
from metier.values import dataclass, replace

from .git.merge_file import text_merger
from .lock.lock_file import Hashes, LockEntry
from .lock.restore import check_locked
from .merge import (
    MergeConflict,
    MergeReason,
    MergeSide,
    SkillMerge,
    contents_of,
    has_marks,
    merge_contents,
    nodes_of,
    take_side,
)
from .merge_record import MergeRecord, backup_path
from .prepare import PreparedSkill
from .protocols import Fetcher
from .store import SkillStore
from .transaction.plan import edited_files
from .transaction.state import PathKind, is_noise

__all__ = ["SkillEdits", "find_edits", "locked_files", "merge_edits", "resolve_merge", "unresolved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillEdits:
    folder: str
    """The folder that was edited: the canonical copy, or the copy of one agent."""
    files: Hashes
    changes: tuple[str, ...]
    """`M path`, `A path`, `D path`."""
    others: int = 0
    """The number of other copies with other edits."""


def find_edits(store: SkillStore, entry: LockEntry) -> SkillEdits | None:
    """Returns the edits of an installed skill, in whichever of its folders they are."""
    placed = store.place(entry)
    disk = store.on_disk(placed)
    edited = {
        path: disk[path].files
        for path in (placed.folder, *placed.copies)
        if disk[path].kind is PathKind.FOLDER and disk[path].files != entry.files
    }
    for path, files in edited.items():
        others = sum(other != files for other in edited.values())
        return SkillEdits(folder=path, files=files, changes=edited_files(entry.files, files), others=others)
    return None


def locked_files(fetcher: Fetcher, entry: LockEntry) -> Contents | None:
    """Returns the files as they were installed, if the cache or the source still has that version."""
    found = fetcher.exact([entry])[0]
    try:
        files = check_locked(entry, found if isinstance(found, MetierError) else replace(found, too_new=None)).files
    except MetierError:
        return None
    return files if isinstance(files, Contents) else read_contents(files)


def merge_edits(
    store: SkillStore, edits: SkillEdits, base: Contents | None, new: PreparedSkill, side: MergeSide | None
) -> SkillMerge:
    """Merges edits with the new version. Raises ConflictError if the folder has something that an update would lose."""
    yours = _read(edits.folder)
    if yours.hashes != edits.files:
        lost = next(iter(edited_files(yours.hashes, edits.files)), "A ?")[2:]
        raise ConflictError(f"{lost} cannot be part of a skill", hint="move it out of the skill's folder")
    if edits.others:
        raise ConflictError("the copies of the skill have different edits", hint="make them equal, or use --force")
    theirs = new.files if isinstance(new.files, Contents) else read_contents(new.files)
    return merge_contents(base, yours, theirs, text_merger(store.scope.environment, side), side=side)


def unresolved(store: SkillStore, entry: LockEntry, record: MergeRecord) -> tuple[MergeConflict, ...]:
    """Returns the conflicts that are left: files that still have marks, and others that are unchanged since."""
    now = _read(store.folder_of(entry))
    return tuple(one for one, after in zip(record.conflicts, record.hashes, strict=True) if _is_unresolved(one, after, now))


def resolve_merge(store: SkillStore, fetcher: Fetcher, entry: LockEntry, record: MergeRecord, side: MergeSide | None) -> None:
    """Resolves the conflicts that are left in favour of one side, and deletes the record. Raises MetierError."""
    now, left = _read(store.folder_of(entry)), unresolved(store, entry, record)
    if not left:
        store.finish_merge(entry, seen=now.hashes)
        return
    if side is None:
        raise ConflictError(f"{entry.name} has conflicts", hint=f"edit the files, then run `metier skill update {entry.name}`")
    nodes = nodes_of(now)
    # The files of the side are needed only where no marks show them.
    whole = {} if all(one.reason is MergeReason.LINES for one in left) else nodes_of(_side(store, fetcher, entry, record, side))
    for one in left:
        node = nodes.pop(one.path, None)
        if one.reason is MergeReason.LINES and isinstance(node, Member):
            nodes[one.path] = replace(node, data=take_side(node.data, side))
        elif one.path in whole:
            nodes[one.path] = whole[one.path]
    store.finish_merge(entry, contents_of(nodes), seen=now.hashes)


def _is_unresolved(conflict: MergeConflict, after: str, now: Contents) -> bool:
    if conflict.reason is MergeReason.LINES:
        return any(member.path == conflict.path and has_marks(member.data) for member in now.members)
    return now.hashes.get(conflict.path, ("", ""))[1] == after


def _side(store: SkillStore, fetcher: Fetcher, entry: LockEntry, record: MergeRecord, side: MergeSide) -> Contents:
    if side is MergeSide.YOURS:
        return _read(backup_path(store.scope, entry.name, record.yours))
    files = locked_files(fetcher, entry)
    if files is None:
        raise ConflictError(
            f"the new version of {entry.name} cannot be fetched again", hint=f"run `metier skill update {entry.name} --abort`"
        )
    return files


def _read(folder: str) -> Contents:
    # Imported here: it opens archives too, and few updates meet edits.
    from .fetch.tree import read_folder

    if not os.path.isdir(folder):
        return Contents(())
    nodes = nodes_of(read_folder(folder))
    return contents_of({path: node for path, node in nodes.items() if not is_noise(path)})
