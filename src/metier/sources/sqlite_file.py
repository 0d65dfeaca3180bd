"""The one way to open a SQLite file.

SQLite protects a database with POSIX locks, and a process loses them as soon as it closes *any* descriptor of the file. So
only SQLite opens a database and the files beside it (`-wal`, `-shm`, `-journal`); metier creates, checks and renames them by
path. A new database is created under another name, private from its first byte, and then linked to its own name. SQLite gives
the files beside it the same mode.

A listing that is read from the cache imports this module, so it imports nothing else at the top.
"""

from __future__ import annotations

import os
import sqlite3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    TransactionMode = Literal["DEFERRED", "EXCLUSIVE", "IMMEDIATE"] | None

__all__ = ["DatabaseUse", "delete_cache", "open_cache", "open_memory_database", "open_sqlite"]

_BESIDE = ("", "-wal", "-shm", "-journal")


def open_sqlite(
    file: str,
    *,
    timeout: float,
    isolation_level: TransactionMode = None,
    check_same_thread: bool = True,
    cached_statements: int = 128,
    write_ahead: bool = False,
) -> sqlite3.Connection:
    """Opens a database that only its owner can read. Creates the file and its folder if they do not exist."""
    _create(file)
    _make_private(file)
    connection = sqlite3.connect(
        file,
        timeout=timeout,
        isolation_level=isolation_level,
        check_same_thread=check_same_thread,
        cached_statements=cached_statements,
    )
    if write_ahead:
        try:
            _use_write_ahead_log(connection, timeout)
        except BaseException:
            connection.close()
            raise
    return connection


def open_cache(file: str, *, timeout: float) -> sqlite3.Connection:
    """Opens a database that may be lost at any time: it is not flushed to the disk, and its journal is in memory."""
    connection = open_sqlite(file, timeout=timeout, isolation_level="IMMEDIATE")
    try:
        # Waiting for the disk would slow down every start; a lost cache costs one slow start.
        connection.execute("pragma synchronous = off")
        connection.execute("pragma journal_mode = memory")
    except BaseException:
        connection.close()
        raise
    return connection


def open_memory_database() -> sqlite3.Connection:
    """Opens an empty database without a file, for one use."""
    return sqlite3.connect(":memory:")


def delete_cache(file: str) -> None:
    """Deletes a damaged cache.

    It has no files beside it, so a process that still has it open loses what it writes there and nothing else.
    """
    try:
        os.unlink(file)
    except OSError:
        pass


class DatabaseUse:
    """Marks a database as used by this process until `end`, by a shared lock on a file beside it.

    Only a process that uses a database alone may rename it: another one would go on writing to the renamed files.
    """

    def __init__(self, file: str) -> None:
        from .atomic_write import make_private_folder

        self._file = file
        self._descriptor: int | None = None
        try:
            make_private_folder(os.path.dirname(file))
            self._descriptor = os.open(f"{file}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            self.share()
        except OSError:
            # A read-only folder, where nothing can be renamed either.
            self.end()

    def try_alone(self) -> bool:
        """Locks out other processes until `share` or `end`. Returns False if another process uses the database."""
        import fcntl

        if self._descriptor is None:
            return False
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def share(self) -> None:
        import fcntl

        if self._descriptor is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def rename(self, target: str) -> None:
        """Renames the database and the files beside it. Call it only after `try_alone`."""
        for suffix in _BESIDE:
            try:
                os.replace(f"{self._file}{suffix}", f"{target}{suffix}")
            except FileNotFoundError:
                continue

    def end(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _use_write_ahead_log(connection: sqlite3.Connection, timeout: float) -> None:
    """Switches to a write-ahead log. SQLite itself does not wait while another process does the same with a new file."""
    import time

    deadline = time.monotonic() + timeout
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _create(file: str) -> None:
    """Creates an empty private file, and closes it before it gets the database's name.

    Where that fails, for example on a disk without hard links, SQLite creates the file or says why it cannot.
    """
    if os.path.lexists(file):
        return
    from .atomic_write import create_private_file, make_private_folder

    folder = os.path.dirname(file) or "."
    try:
        make_private_folder(folder)
        descriptor, temporary = create_private_file(folder, ".new-")
        os.close(descriptor)
        try:
            os.link(temporary, file)
        finally:
            os.unlink(temporary)
    except OSError:
        pass


def _make_private(file: str) -> None:
    """Takes the permissions of other users away from a database that an earlier version or another program created."""
    for path in _readable_by_others(file):
        try:
            os.chmod(path, 0o600)
        except OSError:
            pass


def _readable_by_others(file: str) -> Iterable[str]:
    for suffix in _BESIDE:
        try:
            status = os.stat(f"{file}{suffix}")
        except OSError:
            continue
        if status.st_mode & 0o077 and status.st_uid == os.geteuid():
            yield f"{file}{suffix}"
