"""Folders that belong to one living process: it holds a lock on them, and the kernel drops the lock when the process ends.

So a later process can tell what a killed one has left behind from what is in use, without asking for process ids.
"""

from __future__ import annotations

import fcntl
import os

__all__ = ["is_in_use", "lock_if_abandoned", "lock_use", "make_locked"]

_USES = "uses"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def make_locked(folder: str) -> int:
    """Creates a private folder and returns its descriptor, which holds the lock. Raises FileExistsError if the path exists."""
    while True:
        os.mkdir(folder, 0o700)
        try:
            descriptor = os.open(folder, _DIRECTORY)
        except FileNotFoundError:
            continue  # another process took it for abandoned before it was locked
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_at(descriptor, folder):
            return descriptor
        os.close(descriptor)


def lock_if_abandoned(folder: str) -> int | None:
    """Returns the lock on the folder of a process that has ended, or None. Close the lock after removing the folder."""
    try:
        descriptor = os.open(folder, _DIRECTORY)
    except OSError:
        return None
    try:
        if os.fstat(descriptor).st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(descriptor, folder):
                return descriptor
    except OSError:
        pass  # its process lives
    os.close(descriptor)
    return None


def lock_use(folder: str) -> int:
    """Marks a folder as in use until the descriptor is closed, which several processes can do at the same time."""
    descriptor = os.open(f"{folder}/{_USES}", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def is_in_use(folder: str) -> bool:
    """Returns True while a process holds `lock_use` of the folder."""
    try:
        descriptor = os.open(f"{folder}/{_USES}", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _is_at(descriptor: int, folder: str) -> bool:
    try:
        found, locked = os.stat(folder, follow_symlinks=False), os.fstat(descriptor)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (locked.st_dev, locked.st_ino)
