"""A copy of the workspace for levels without mounts: the script works in the copy, and the user's folder stays as it is."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import suppress

from metier.errors import RefusedError
from metier.runtime.sandbox import scratch
from metier.sources import file_lock, replace_text

from .git_config import clean_git_config
from .hidden import GIT_ENTRIES, HiddenFiles, is_git_folder
from .mount import WorkspaceMount

__all__ = ["CopiedFile", "copied_state", "copy_workspace", "read_copied"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

CopiedFile = tuple[int, int, int]
"""Inode, size and time of change: one differs after a script has written to a file of the copy. Folders have no size, -1."""


class _TooLargeError(Exception):
    """The folder has more bytes or files than may be copied."""


def copy_workspace(mount: WorkspaceMount, *, most_bytes: int, most_files: int) -> None:
    """Makes the copy, without hidden files, unless it exists. Raises RefusedError if the folder is too large to copy."""
    with file_lock(f"{mount.layer}/copy"):
        if not os.path.isdir(mount.copy):
            _make_copy(mount, [most_bytes, most_files])


def _make_copy(mount: WorkspaceMount, left: list[int]) -> None:
    unfinished = f"{mount.layer}/unfinished-copy"
    scratch.remove(unfinished)
    os.mkdir(unfinished, 0o700)
    source, target = os.open(mount.folder, _FOLDER), os.open(unfinished, _FOLDER)
    try:
        _copy_folder(source, target, "", HiddenFiles(mount.hide), left)
    except _TooLargeError:
        scratch.remove(unfinished)
        raise RefusedError(
            f"{mount.folder} is too large to be copied, and this machine cannot mount it as a workspace",
            rule="workspace-copy",
            hint="install bubblewrap, or choose a smaller folder with --workspace",
        ) from None
    finally:
        os.close(source)
        os.close(target)
    replace_text(f"{mount.layer}/copied.json", json.dumps(copied_state(unfinished)))
    os.rename(unfinished, mount.copy)


def read_copied(layer: str) -> dict[str, CopiedFile]:
    """Returns the files of the copy as they were before the first run."""
    with open(f"{layer}/copied.json", encoding="utf-8") as file:
        return {path: (row[0], row[1], row[2]) for path, row in json.load(file).items()}


def copied_state(folder: str) -> dict[str, CopiedFile]:
    return {
        path: (status.st_ino, -1, 0) if stat.S_ISDIR(status.st_mode) else (status.st_ino, status.st_size, status.st_ctime_ns)
        for path, status in _entries(folder)
    }


def _entries(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    for here, folders, files in os.walk(folder):
        inside = os.path.relpath(here, folder)
        prefix = "" if inside == "." else f"{inside}/"
        for name in (*files, *folders):
            with suppress(OSError):
                yield prefix + name, os.lstat(f"{here}/{name}")


def _copy_folder(source: int, target: int, path: str, hidden: HiddenFiles, left: list[int]) -> None:
    with os.scandir(source) as found:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
    is_git = is_git_folder(name for name, _ in entries)
    for name, is_folder in entries:
        below = f"{path}/{name}" if path else name
        if (name not in GIT_ENTRIES) if is_git else hidden.hides(below, is_folder=is_folder):
            continue
        left[1] -= 1
        if left[0] < 0 or left[1] < 0:
            raise _TooLargeError
        if is_folder:
            with suppress(PermissionError, FileNotFoundError):
                _copy_below(source, target, below, hidden, left)
        else:
            _copy_file(source, target, name, left, is_config=is_git and name.startswith("config"))


def _copy_below(source: int, target: int, path: str, hidden: HiddenFiles, left: list[int]) -> None:
    name = path.rpartition("/")[2]
    inner = os.open(name, _FOLDER, dir_fd=source)
    try:
        os.mkdir(name, 0o700, dir_fd=target)
        copy = os.open(name, _FOLDER, dir_fd=target)
        try:
            _copy_folder(inner, copy, path, hidden, left)
        finally:
            os.close(copy)
    finally:
        os.close(inner)


def _copy_file(source: int, target: int, name: str, left: list[int], *, is_config: bool) -> None:
    try:
        status = os.stat(name, dir_fd=source, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        if not stat.S_ISREG(status.st_mode):
            return
        left[0] -= status.st_size
        if left[0] < 0:
            raise _TooLargeError
        with open(os.open(name, _FILE, dir_fd=source), "rb") as file:
            data = file.read()
    except (FileNotFoundError, PermissionError):
        return
    if is_config:
        data = clean_git_config(data.decode("utf-8", "replace")).encode()
    mode = 0o700 if status.st_mode & 0o100 else 0o600
    with open(os.open(name, _NEW, mode, dir_fd=target), "wb") as copy:
        copy.write(data)
