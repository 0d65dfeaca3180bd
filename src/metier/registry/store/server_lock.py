"""One server for each SQLite database.

Several servers would share the data safely, but each counts rate limits and runs background jobs on its own, and a user who
starts a second one by mistake sees half of the requests. Workers of one server and maintenance commands are not affected, and
neither are servers that share PostgreSQL.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from metier.errors import ConflictError
from metier.sources import make_private_folder

__all__ = ["hold_for_server"]


@contextlib.contextmanager
def hold_for_server(db: str) -> Iterator[None]:
    """Holds the lock of a SQLite database's server. Raises ConflictError if another process holds it."""
    parts = urlsplit(db)
    if parts.scheme != "sqlite":
        yield
        return
    path = os.path.abspath(unquote(parts.path))
    try:
        make_private_folder(os.path.dirname(path))
        # A file of its own: the database itself is opened by SQLite only.
        descriptor = os.open(f"{path}.server", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        # Opening the database reports the reason.
        yield
        return
    try:
        _take(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, path: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        process = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
        raise ConflictError(
            f"process {process or 'unknown'} already serves the registry in {os.path.dirname(path)}",
            hint="stop that process, or pass another --db and --blobs; --workers starts more processes of one server",
        ) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
