"""Reads the state of paths on disk: absent, a link, or a folder with the hash of every file."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from enum import StrEnum

from metier.archive import digest_of_hashes
from metier.install.lock.lock_file import Hashes
from metier.values import dataclass, field

__all__ = ["PathKind", "PathState", "is_noise", "read_state", "read_states"]

NOISE = frozenset({"__pycache__", ".DS_Store", "node_modules", ".venv", ".pytest_cache", ".mypy_cache", ".ruff_cache"})
"""Files that running a skill's scripts leaves behind; they are no edits."""
_PART = 1 << 20


class PathKind(StrEnum):
    ABSENT = "absent"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class PathState:
    kind: PathKind
    files: Hashes = field(default_factory=dict)
    """The hashes of a folder's files, as in a lock."""
    target: str = ""
    """The target of a link, as written in it."""

    @property
    def digest(self) -> str:
        return digest_of_hashes(self.files)


ABSENT = PathState(kind=PathKind.ABSENT)


def read_state(path: str) -> PathState:
    """Returns the state of a path; follows no links."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    if stat.S_ISLNK(mode):
        return PathState(kind=PathKind.LINK, target=os.readlink(path))
    if not stat.S_ISDIR(mode):
        return PathState(kind=PathKind.OTHER)
    return PathState(
        kind=PathKind.FOLDER, files=dict(sorted(_hashes(path, ""), key=lambda item: item[0].encode("utf-8", "replace")))
    )


def is_noise(path: str) -> bool:
    """Returns True for a file that running a skill's scripts leaves behind."""
    return path.endswith(".pyc") or not NOISE.isdisjoint(path.split("/"))


def read_states(paths: list[str]) -> dict[str, PathState]:
    """Returns the states of many paths, in threads: hashing releases the GIL."""
    there = [path for path in paths if os.path.lexists(path)]
    if len(there) < 4:
        return {path: read_state(path) for path in paths}
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(8, os.cpu_count() or 1) + 2) as pool:
        return dict.fromkeys(paths, ABSENT) | dict(zip(there, pool.map(read_state, there), strict=True))


def _hashes(folder: str, prefix: str) -> Iterator[tuple[str, tuple[str, str]]]:
    with os.scandir(folder) as children:
        for child in children:
            path = prefix + child.name
            if is_noise(child.name):
                continue
            if child.is_symlink():
                yield path, ("120000", hashlib.sha256(os.fsencode(os.readlink(child.path))).hexdigest())
            elif child.is_dir(follow_symlinks=False):
                yield from _hashes(child.path, f"{path}/")
            else:
                yield path, _hash_of(child)


def _hash_of(child: os.DirEntry[str]) -> tuple[str, str]:
    status = child.stat(follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        # Opening a pipe would block. No lock has one, so it shows as an added file.
        return "000000", ""
    mode = "100755" if status.st_mode & 0o111 else "100644"
    whole = hashlib.sha256()
    try:
        descriptor = os.open(child.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return mode, ""
    try:
        while part := os.read(descriptor, _PART):
            whole.update(part)
    finally:
        os.close(descriptor)
    return mode, whole.hexdigest()
