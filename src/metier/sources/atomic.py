"""Files that change whole or not at all, also with two of us writing at once."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator

__all__ = ["locked", "replace_bytes", "replace_text"]


def replace_text(file: str, text: str) -> None:
    replace_bytes(file, text.encode())


def replace_bytes(file: str, data: bytes, *, mode: int = 0o600) -> None:
    """Write beside the file and rename over it: a reader sees the old bytes or the new ones, never a part.

    An existing file keeps its permissions; a new one has `mode`, by default its owner's alone.
    """
    # Through the link, if the file is one: people keep their configuration in a dotfiles repository.
    file = os.path.realpath(file)
    mode = stat.S_IMODE(os.stat(file).st_mode) if os.path.exists(file) else mode
    folder = os.path.dirname(file)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=f".{os.path.basename(file)}.")
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


@contextlib.contextmanager
def locked(file: str) -> Iterator[None]:
    """Only one process at a time between reading and writing `file`. Held in a file beside it, which stays."""
    os.makedirs(os.path.dirname(file) or ".", mode=0o700, exist_ok=True)
    descriptor = os.open(f"{file}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
