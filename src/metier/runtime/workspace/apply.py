"""Applies changes of a layer to the user's folder: each file atomically, never through a link, and only if it is as it was."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress

from metier.sources import replace_in_folder

from .change import AppliedChanges, FileChange, FileChangeKind
from .paths import folder_below, open_below, read_below

__all__ = ["apply_changes"]

CHANGED_MEANWHILE = "it was changed in the folder since the script started"
_LARGEST = 1 << 31


class _RefusedChangeError(Exception):
    """The change cannot be applied; the message is the reason."""


def apply_changes(
    below: int, above: int, changes: Iterable[FileChange], *, is_changed: Callable[[str, os.stat_result], bool]
) -> AppliedChanges:
    """Applies changes from the folder `above` to the folder `below`. `is_changed` tells whether the user changed a file."""
    applied, refused = [], []
    for change in _in_order(changes):
        try:
            if change.problem:
                raise _RefusedChangeError(change.problem)
            _apply(below, above, change, is_changed)
            applied.append(change)
        except _RefusedChangeError as error:
            refused.append((change, str(error)))
        except OSError as error:
            refused.append((change, error.strerror or str(error)))
    return AppliedChanges(applied=tuple(applied), refused=tuple(refused))


def _in_order(changes: Iterable[FileChange]) -> list[FileChange]:
    """New content first, so that a killed process has lost nothing, except where a deletion must come first."""
    found = list(changes)
    made = {change.path for change in found if change.kind is not FileChangeKind.DELETED}
    needed = made | {above for path in made for above in _above(path)}
    deleted = sorted((one for one in found if one.kind is FileChangeKind.DELETED), key=lambda one: one.path, reverse=True)
    first = [one for one in deleted if one.path in needed or any(above in made for above in _above(one.path))]
    rest = [one for one in deleted if one not in first]
    return [*first, *sorted((one for one in found if one not in deleted), key=lambda one: one.path), *rest]


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:length]) for length in range(1, len(parts))]


def _apply(below: int, above: int, change: FileChange, is_changed: Callable[[str, os.stat_result], bool]) -> None:
    parent, _, name = change.path.rpartition("/")
    if change.kind is not FileChangeKind.DELETED:
        _make_folders(below, parent)
    try:
        folder = open_below(below, parent)
    except OSError:
        raise _RefusedChangeError("its folder was replaced or removed") from None
    try:
        old = _status(folder, name)
        if old is not None and not stat.S_ISDIR(old.st_mode) and is_changed(change.path, old):
            raise _RefusedChangeError(CHANGED_MEANWHILE)
        if change.kind is FileChangeKind.DELETED:
            _delete(folder, name, old, change)
        elif change.is_folder:
            _make_folder(folder, name, old)
        else:
            _write(folder, name, old, above, change)
    finally:
        os.close(folder)


def _delete(folder: int, name: str, old: os.stat_result | None, change: FileChange) -> None:
    if old is None:
        return
    if stat.S_ISDIR(old.st_mode) != change.is_folder:
        raise _RefusedChangeError(CHANGED_MEANWHILE)
    try:
        os.rmdir(name, dir_fd=folder) if change.is_folder else os.unlink(name, dir_fd=folder)
    except OSError:
        if change.is_folder and stat.S_ISDIR(old.st_mode):
            raise _RefusedChangeError("it is not empty: it holds files that are hidden or were kept") from None
        raise


def _make_folder(folder: int, name: str, old: os.stat_result | None) -> None:
    if old is None:
        os.mkdir(name, 0o777, dir_fd=folder)
    elif not stat.S_ISDIR(old.st_mode):
        raise _RefusedChangeError("a file of that name exists")


def _write(folder: int, name: str, old: os.stat_result | None, above: int, change: FileChange) -> None:
    is_new = change.kind is FileChangeKind.CREATED
    if is_new and old is not None:
        raise _RefusedChangeError("it exists now")
    if not is_new and old is None:
        raise _RefusedChangeError("it was deleted in the folder since the script started")
    if old is not None and stat.S_ISDIR(old.st_mode):
        raise _RefusedChangeError("a folder of that name exists")
    if change.link:
        _write_link(folder, name, change, is_new=is_new)
        return
    data = read_below(above, change.path, limit=_LARGEST)
    if len(data) > _LARGEST:
        raise _RefusedChangeError(f"it is larger than {_LARGEST:,} bytes")
    if old is not None and not stat.S_ISREG(old.st_mode):
        os.unlink(name, dir_fd=folder)  # a link or the like, which the user agreed to replace
        old, is_new = None, True
    replace_in_folder(folder, name, data, mode=_mode(old, change), is_new=is_new)


def _write_link(folder: int, name: str, change: FileChange, *, is_new: bool) -> None:
    temporary = name if is_new else f".metier-{os.urandom(8).hex()}"
    os.symlink(change.link, temporary, dir_fd=folder)
    if not is_new:
        try:
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise


def _mode(old: os.stat_result | None, change: FileChange) -> int:
    """A changed file keeps its mode, except for the execute bits; a new one gets the usual mode of new files."""
    is_program = bool((change.new_mode or 0) & 0o100)
    if old is None:
        return (0o777 if is_program else 0o666) & ~_umask()
    mode = stat.S_IMODE(old.st_mode) & 0o777
    if bool(mode & 0o100) == is_program:
        return mode
    return mode | ((mode & 0o444) >> 2) if is_program else mode & ~0o111


def _umask() -> int:
    with suppress(OSError, ValueError, StopIteration), open("/proc/self/status", encoding="ascii", errors="replace") as lines:
        # The only other way to read it is to set it, also for the other threads.
        return int(next(line for line in lines if line.startswith("Umask:")).split()[1], 8)
    return 0o022


def _make_folders(root: int, path: str) -> None:
    for folder in (*_above(path), path) if path else ():
        parent, _, name = folder.rpartition("/")
        try:
            with folder_below(root, parent) as above, suppress(FileExistsError):
                os.mkdir(name, 0o777, dir_fd=above)
        except OSError:
            raise _RefusedChangeError("its folder was replaced or removed") from None


def _status(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
