"""Reads the layer of a workspace: which files it creates, changes and deletes in the folder below.

The layer was written by a script, so everything in it is read through descriptors, without following links, and with our own
rights only. Two kinds of layer exist: the upper folder of an overlay, and a copy of the whole workspace.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import Self

from metier.values import replace

from .change import FileChange, FileChangeKind
from .copy import copied_state, read_copied
from .hidden import HiddenFiles, is_git_folder
from .paths import folder_below, join, open_root, read_below, status_below

__all__ = ["GIT_PROBLEM", "HIDDEN_PROBLEM", "LayerReader"]

GIT_PROBLEM = "it belongs to a git repository: commits and settings made in the sandbox are not kept"
HIDDEN_PROBLEM = "it is hidden from scripts"
_OPAQUE = "user.overlay.opaque"
_COMPARED = 1 << 16
_LONGEST = 4096


class LayerReader:
    """Compares a layer with the folder below it. Use it as a context manager."""

    def __init__(self, folder: str, layer: str, hidden: HiddenFiles) -> None:
        self.hidden = hidden
        self.layer = layer
        self._repositories: dict[str, bool] = {}
        self.is_copy = os.path.isdir(f"{layer}/copy")
        self.below = open_root(folder)
        self.above = open_root(f"{layer}/copy" if self.is_copy else f"{layer}/upper")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.below)
        os.close(self.above)

    def changes(self) -> list[FileChange]:
        found = self._copied_changes() if self.is_copy else self._folder_changes("", is_opaque=False)
        return sorted(found, key=lambda change: change.path)

    def _copied_changes(self) -> Iterator[FileChange]:
        before, now = read_copied(self.layer), copied_state(f"{self.layer}/copy")
        gone = before.keys() - now.keys()
        for path in gone:
            if path.rpartition("/")[0] not in gone:
                yield from self._deleted(path)
        for path, row in now.items():
            status = status_below(self.above, path) if row != before.get(path) else None
            if status is not None and stat.S_ISDIR(status.st_mode):
                yield from self._created_folder(path, status)
            elif status is not None:
                yield from self._written(path, status)

    def _folder_changes(self, path: str, *, is_opaque: bool) -> Iterator[FileChange]:
        with folder_below(self.above, path) as folder:
            is_opaque = is_opaque or _is_opaque(folder)
            names = sorted(os.listdir(folder))
            statuses = [(name, os.stat(name, dir_fd=folder, follow_symlinks=False)) for name in names]
        if is_opaque:
            for name in set(self._names_below(path)) - set(names):
                yield from self._deleted(join(path, name))
        for name, status in statuses:
            below = join(path, name)
            if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
                yield from self._deleted(below)
            elif stat.S_ISDIR(status.st_mode):
                yield from self._changed_folder(below, status, is_opaque=is_opaque)
            else:
                yield from self._written(below, status)

    def _changed_folder(self, path: str, status: os.stat_result, *, is_opaque: bool) -> Iterator[FileChange]:
        yield from self._created_folder(path, status)
        try:
            yield from self._folder_changes(path, is_opaque=is_opaque)
        except PermissionError:
            yield FileChange(path=path, kind=FileChangeKind.CHANGED, is_folder=True, problem="its folder cannot be read")

    def _created_folder(self, path: str, status: os.stat_result) -> Iterator[FileChange]:
        old = status_below(self.below, path)
        if old is not None and stat.S_ISDIR(old.st_mode):
            return
        if old is not None:
            yield from self._deleted(path)
        if not self.hidden.covers(path, is_folder=True):
            mode = stat.S_IMODE(status.st_mode)
            yield self._checked(FileChange(path=path, kind=FileChangeKind.CREATED, new_mode=mode, is_folder=True))

    def _written(self, path: str, status: os.stat_result) -> Iterator[FileChange]:
        old = status_below(self.below, path)
        if old is not None and stat.S_ISDIR(old.st_mode):
            yield from self._deleted(path)
            old = None
        kind = FileChangeKind.CREATED if old is None else FileChangeKind.CHANGED
        change = FileChange(
            path=path, kind=kind, old_size=_size(old), new_size=_size(status), old_mode=_mode(old), new_mode=_mode(status)
        )
        if stat.S_ISLNK(status.st_mode):
            with folder_below(self.above, path.rpartition("/")[0]) as folder:
                change = FileChange(
                    path=path, kind=kind, old_size=_size(old), link=os.readlink(path.rpartition("/")[2], dir_fd=folder)
                )
            if old is not None and stat.S_ISLNK(old.st_mode) and self._old_link(path) == change.link:
                return
        elif not stat.S_ISREG(status.st_mode):
            yield FileChange(path=path, kind=kind, problem="it is a device, a pipe or a socket")
            return
        elif status.st_mode & (stat.S_ISUID | stat.S_ISGID):
            change = replace(change, problem="it has the setuid or setgid bit")
        elif not change.changes_mode and self._is_same(path, old, status):
            return
        yield self._checked(change)

    def _deleted(self, path: str) -> list[FileChange]:
        """Returns the file, or everything in the folder and then the folder. Hidden files stay, and so do their folders."""
        status = status_below(self.below, path)
        is_folder = status is not None and stat.S_ISDIR(status.st_mode)
        if status is None or self.hidden.covers(path, is_folder=is_folder):
            return []
        names = self._names_below(path) if is_folder else []
        found = [self._deleted(join(path, name)) for name in names]
        changes = [change for below in found for change in below]
        if any(not below or below[-1].path.count("/") > path.count("/") + 1 for below in found):
            return changes  # something in it stays
        change = FileChange(
            path=path, kind=FileChangeKind.DELETED, old_size=_size(status), old_mode=_mode(status), is_folder=is_folder
        )
        return [*changes, self._checked(change)]

    def _checked(self, change: FileChange) -> FileChange:
        if change.problem:
            return change
        if not change.path.isprintable() or len(change.path) > _LONGEST:
            return replace(change, problem="its name has characters that cannot be shown")
        if self._is_in_repository(change.path):
            return replace(change, problem=GIT_PROBLEM)
        if self.hidden.covers(change.path, is_folder=change.is_folder):
            return replace(change, problem=HIDDEN_PROBLEM)
        if change.link and _leads_out(change.path, change.link):
            return replace(change, problem=f"it is a link out of the workspace, to {change.link!r}")
        if change.link and self.hidden.covers(_target(change.path, change.link)):
            return replace(change, problem="it is a link to a hidden file")
        return change

    def _is_in_repository(self, path: str) -> bool:
        """Returns True below a .git folder, and in any other folder that git would take for a repository."""
        parts = path.split("/")
        if any(part.lower().rstrip(". ") == ".git" for part in parts):
            return True
        return any(self._is_repository("/".join(parts[:length])) for length in range(len(parts)))

    def _is_repository(self, path: str) -> bool:
        if path not in self._repositories:
            names = set(self._names_below(path))
            with suppress(OSError), folder_below(self.above, path) as folder:
                names |= set(os.listdir(folder))
            self._repositories[path] = is_git_folder(names)
        return self._repositories[path]

    def _names_below(self, path: str) -> list[str]:
        try:
            with folder_below(self.below, path) as folder:
                return sorted(os.listdir(folder))
        except OSError:
            return []

    def _old_link(self, path: str) -> str:
        with folder_below(self.below, path.rpartition("/")[0]) as folder:
            return os.readlink(path.rpartition("/")[2], dir_fd=folder)

    def _is_same(self, path: str, old: os.stat_result | None, new: os.stat_result) -> bool:
        """Returns True if a file was only touched, or written with the same bytes."""
        if old is None or old.st_size != new.st_size or not stat.S_ISREG(old.st_mode):
            return False
        with suppress(OSError):
            return read_below(self.below, path, limit=new.st_size) == read_below(self.above, path, limit=new.st_size)
        return False


def _is_opaque(folder: int) -> bool:
    try:
        return os.getxattr(folder, _OPAQUE) == b"y"
    except OSError:
        return False


def _size(status: os.stat_result | None) -> int | None:
    return status.st_size if status is not None and stat.S_ISREG(status.st_mode) else None


def _mode(status: os.stat_result | None) -> int | None:
    return stat.S_IMODE(status.st_mode) if status is not None and not stat.S_ISLNK(status.st_mode) else None


def _target(path: str, link: str) -> str:
    return os.path.normpath(os.path.join(os.path.dirname(path), link))


def _leads_out(path: str, link: str) -> bool:
    return os.path.isabs(link) or _target(path, link).split("/")[0] == ".."
