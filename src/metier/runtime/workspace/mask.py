"""The hidden files of a workspace as a layer of whiteouts, kept current by the times of folders.

An overlay shows no file that has a whiteout above it, so one mount hides any number of files. The first run reads the whole
tree. Later ones ask each folder for its time of change, and read only those that changed. The .git folders are read every
time, without their objects: a cleaned copy of their config replaces the real one.
"""

from __future__ import annotations

import json
import os
import stat
import time
from contextlib import suppress
from typing import Any

from metier.sources import file_lock, read_regular, replace_text

from .git_config import clean_git_config
from .hidden import GIT_ENTRIES, HiddenFiles, is_git_folder
from .paths import join, open_below, open_root, read_below

__all__ = ["HiddenIndex"]

_RECENT = 2_000_000_000
"""Nanoseconds: a folder that changed so shortly before it was read may change again without another time."""
_LARGEST_CONFIG = 1 << 20
_VERSION = 1

# A folder as it was read: time of change (0 if it must be read again), names of folders, hidden names, True for a repository.
_Row = tuple[int, list[str], list[str], bool]


class HiddenIndex:
    """The mask of one workspace. `place` is a private folder for the mask and, if it is `kept`, the index."""

    def __init__(self, folder: str, hidden: HiddenFiles, place: str, *, kept: bool) -> None:
        self.folder = folder
        self.hidden = hidden
        self.mask = f"{place}/mask"
        self._file = f"{place}/index.json" if kept else ""
        self._rows: dict[str, _Row] | None = None
        self._has_changed = False

    def update(self) -> str:
        """Brings the mask up to date and returns its path."""
        if self._file:
            with file_lock(self._file):
                self._update()
        else:
            self._update()
        return self.mask

    def _update(self) -> None:
        if self._rows is None:
            self._rows = self._load()
            os.makedirs(self.mask, mode=0o700, exist_ok=True)
        root = open_root(self.folder)
        try:
            for path in self._stale(root, self._rows):
                self._read_tree(root, path, self._rows)
            for path, row in self._rows.items():
                if row[3]:
                    self._clean_configs(root, path)
        finally:
            os.close(root)
        os.chmod(self.mask, stat.S_IMODE(os.stat(self.folder).st_mode))
        if self._has_changed and self._file:
            replace_text(self._file, json.dumps({"version": _VERSION, "folder": self.folder, "rows": self._rows}))
        self._has_changed = False

    def _load(self) -> dict[str, _Row]:
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            data: dict[str, Any] = json.loads(read_regular(self._file)) if self._file else {}
            if data.get("version") == _VERSION and data["folder"] == self.folder:
                return {path: (int(row[0]), list(row[1]), list(row[2]), bool(row[3])) for path, row in data["rows"].items()}
        _clear(self.mask)
        return {}

    @staticmethod
    def _stale(root: int, rows: dict[str, _Row]) -> list[str]:
        """Returns the folders to read again, those above first."""
        if not rows:
            return [""]
        found = []
        look = os.stat
        for path, row in rows.items():
            try:
                if look(path or ".", dir_fd=root, follow_symlinks=False).st_mtime_ns != row[0]:
                    found.append(path)
            except OSError:
                found.append(path)
        return sorted(found)

    def _read_tree(self, root: int, path: str, rows: dict[str, _Row]) -> None:
        """Reads one folder, and those below it that are new."""
        pending = [path]
        while pending:
            here = pending.pop()
            known = rows.get(here)
            row = self._read_folder(root, here)
            self._has_changed = True
            if row is None:
                self._forget(here, rows)
                continue
            rows[here] = row
            for gone in set(known[1] if known else ()) - set(row[1]):
                self._forget(join(here, gone), rows)
            self._write_mask(here, row, known)
            pending += [below for name in row[1] if (below := join(here, name)) not in rows]

    def _read_folder(self, root: int, path: str) -> _Row | None:
        try:
            descriptor = open_below(root, path)
        except PermissionError:
            return (0, [], [], False)  # a script cannot read it either
        except OSError:
            return None
        try:
            before = os.fstat(descriptor)
            if before.st_dev != os.fstat(root).st_dev:
                return (before.st_mtime_ns, [], [], False)  # an overlay does not show what is mounted below its folder
            with os.scandir(descriptor) as entries:
                found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        finally:
            os.close(descriptor)
        is_git = is_git_folder(name for name, _ in found)
        folders, hidden = _git_view(found) if is_git else self._view(path, found)
        recent = time.time_ns() - before.st_mtime_ns < _RECENT
        return (0 if recent else before.st_mtime_ns, folders, hidden, is_git)

    def _view(self, path: str, found: list[tuple[str, bool]]) -> tuple[list[str], list[str]]:
        prefix = f"{path}/" if path else ""
        hides = self.hidden.hides if self.hidden.patterns else None
        named = self.hidden.hides_name
        hidden = [
            name for name, is_folder in found
            if (hides(prefix + name, is_folder=is_folder) if hides else named(name, is_folder=is_folder))
        ]  # fmt: skip
        covered = set(hidden)
        return [name for name, is_folder in found if is_folder and name not in covered], hidden

    def _write_mask(self, path: str, row: _Row, known: _Row | None) -> None:
        for shown in set(known[2] if known else ()) - set(row[2]):
            with suppress(OSError):
                os.unlink(f"{self.mask}/{join(path, shown)}")
        if row[2] or row[3]:
            self._make_folders(path)
        for name in row[2]:
            whiteout = f"{self.mask}/{join(path, name)}"
            try:
                os.mknod(whiteout, stat.S_IFCHR, 0)
            except FileExistsError:
                if not stat.S_ISCHR(os.lstat(whiteout).st_mode):
                    _clear(whiteout)
                    os.mknod(whiteout, stat.S_IFCHR, 0)

    def _make_folders(self, path: str) -> None:
        here = ""
        for part in filter(None, path.split("/")):
            here = join(here, part)
            place = f"{self.mask}/{here}"
            with suppress(OSError):
                if not stat.S_ISDIR(os.lstat(place).st_mode):
                    os.unlink(place)
            with suppress(FileExistsError):
                os.mkdir(place, 0o700)
            # The overlay shows the mode of the highest layer.
            os.chmod(place, stat.S_IMODE(os.lstat(f"{self.folder}/{here}").st_mode) | 0o700)

    def _forget(self, path: str, rows: dict[str, _Row]) -> None:
        for known in [each for each in rows if each == path or each.startswith(f"{path}/")]:
            del rows[known]
        if path:
            _clear(f"{self.mask}/{path}")

    def _clean_configs(self, root: int, path: str) -> None:
        for name in ("config", "config.worktree"):
            place = f"{self.mask}/{join(path, name)}"
            try:
                text = _read_text(root, join(path, name))
            except FileNotFoundError:
                with suppress(OSError):
                    os.unlink(place)
                continue
            cleaned = clean_git_config(text).encode()
            with suppress(OSError):
                if read_regular(place) == cleaned:
                    continue
            self._make_folders(path)
            _clear(place)
            descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as file:
                file.write(cleaned)


def _git_view(found: list[tuple[str, bool]]) -> tuple[list[str], list[str]]:
    """Returns the folders of a repository that hold further repositories, and the entries that git does not need."""
    folders = [name for name, is_folder in found if is_folder and name in ("modules", "worktrees")]
    return folders, [name for name, _ in found if name not in GIT_ENTRIES and not name.startswith("sharedindex.")]


def _read_text(root: int, path: str) -> str:
    """Returns the text of a config; empty if it is no regular file, or too large to be one."""
    try:
        data = read_below(root, path, limit=_LARGEST_CONFIG)
    except FileNotFoundError:
        raise
    except OSError:
        return ""
    return data.decode("utf-8", "replace") if len(data) <= _LARGEST_CONFIG else ""


def _clear(path: str) -> None:
    """Removes a file, or a folder with everything in it."""
    try:
        is_folder = stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return
    if not is_folder:
        os.unlink(path)
        return
    for name in os.listdir(path):
        _clear(f"{path}/{name}")
    os.rmdir(path)
