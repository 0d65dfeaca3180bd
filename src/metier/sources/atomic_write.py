"""Atomic, private writes of files, and a lock for read-modify-write. The one way in which metier writes a file."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator

__all__ = ["create_private_file", "file_lock", "replace_bytes", "replace_text"]

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace_text(file: str, text: str) -> None:
    replace_bytes(file, text.encode())


def replace_bytes(file: str, data: bytes, *, mode: int = 0o600) -> None:
    """Writes a temporary file and renames it over `file`, so that a reader sees the old bytes or the new ones.

    An existing file keeps its permissions; a new one gets `mode`, which is private by default.
    """
    # A link is followed, because many users keep their configuration in a dotfiles repository.
    file = os.path.realpath(file)
    mode = stat.S_IMODE(os.stat(file).st_mode) if os.path.exists(file) else mode
    folder = os.path.dirname(file)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    descriptor, temporary = create_private_file(folder, f".{os.path.basename(file)}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def create_private_file(folder: str, prefix: str) -> tuple[int, str]:
    """Creates a file that only its owner can read; returns a descriptor for writing and the path.

    `tempfile` does the same but takes 3 ms to import.
    """
    while True:
        path = os.path.join(folder, prefix + os.urandom(8).hex())
        with contextlib.suppress(FileExistsError):
            return os.open(path, _NEW, 0o600), path


@contextlib.contextmanager
def file_lock(file: str) -> Iterator[None]:
    """Lets one process at a time read and write `file`. The lock is a file next to it, which is not deleted."""
    os.makedirs(os.path.dirname(file) or ".", mode=0o700, exist_ok=True)
    descriptor = os.open(f"{file}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
