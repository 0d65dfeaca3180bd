"""Reads files that must be regular ones. Opening a FIFO in their place would block until a writer comes."""

from __future__ import annotations

import errno
import os
import stat

__all__ = ["open_regular", "read_regular"]

# Nothing waits for a writer, and a terminal does not become the process's own.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def open_regular(file: str | os.PathLike[str], *, dir_fd: int | None = None) -> int:
    """Returns a descriptor of a regular file; the caller closes it. Raises OSError at once if it is anything else.

    With `dir_fd`, `file` is a name in that folder and may not be a link.
    """
    # Opening a device can have effects of its own.
    if not stat.S_ISREG(os.stat(file, dir_fd=dir_fd, follow_symlinks=dir_fd is None).st_mode):
        raise _not_regular(file)
    descriptor = os.open(file, _FLAGS if dir_fd is None else _FLAGS | os.O_NOFOLLOW, dir_fd=dir_fd)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _not_regular(file)
    return descriptor


def read_regular(file: str | os.PathLike[str], *, dir_fd: int | None = None) -> bytes:
    """Returns the bytes of a regular file. Raises OSError at once if it is anything else."""
    with os.fdopen(open_regular(file, dir_fd=dir_fd), "rb") as stream:
        return stream.read()


def _not_regular(file: str | os.PathLike[str]) -> OSError:
    return OSError(errno.EINVAL, "not a regular file", os.fspath(file))
