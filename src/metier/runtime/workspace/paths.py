"""Opens files below a folder without following a link: neither in the last part of a path nor above it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["folder_below", "join", "open_below", "open_root", "read_below", "status_below"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def open_root(folder: str) -> int:
    return os.open(folder, _FOLDER)


def open_below(root: int, path: str) -> int:
    """Returns a descriptor of a folder; an empty path is the root itself."""
    here = os.dup(root)
    try:
        for part in filter(None, path.split("/")):
            below = os.open(part, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
    except OSError:
        os.close(here)
        raise
    return here


@contextmanager
def folder_below(root: int, path: str) -> Iterator[int]:
    descriptor = open_below(root, path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def status_below(root: int, path: str) -> os.stat_result | None:
    """Returns the status of a file, folder or link; None if there is none, or a link is in the way."""
    above, _, name = path.rpartition("/")
    try:
        with folder_below(root, above) as folder:
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


def read_below(root: int, path: str, *, limit: int) -> bytes:
    """Reads a regular file, at most `limit` bytes and one more. Raises OSError if it is another kind of file."""
    above, _, name = path.rpartition("/")
    with folder_below(root, above) as folder, open(os.open(name, _FILE, dir_fd=folder), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path} is not a regular file")
        return file.read(limit + 1)


def join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
