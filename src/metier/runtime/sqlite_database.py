"""One SQLite file that several processes may use at once.

Every change is one transaction that reads, decides and writes. A damaged file that no other process uses is renamed, never
deleted, and a new one is created; `damaged_copy` says where the old one is.

A connection does not survive a fork: the child would take over SQLite's record of locks that only the parent holds. So
connections are closed before a fork, and each process opens its own afterwards.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator

from metier.errors import UnavailableError
from metier.sources import DatabaseUse, make_private_folder, open_sqlite

from .store_schema import SqlDialect, StoreSchema

__all__ = ["SqliteDatabase"]

_databases: weakref.WeakSet[SqliteDatabase] = weakref.WeakSet()
_forking: list[SqliteDatabase] = []
"""The databases whose locks the forking thread holds."""


class SqliteDatabase:
    """Opened on first use. A file that a later version wrote is left alone."""

    dialect = SqlDialect.SQLITE

    def __init__(self, file: str | os.PathLike[str], schema: StoreSchema, *, timeout: float = 5.0) -> None:
        self.file = os.path.abspath(file)
        self.damaged_copy: str | None = None
        """The new path of a damaged file, if there was one."""
        self._schema = schema
        self._timeout = timeout
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._use: DatabaseUse | None = None
        self._identity: tuple[int, int] | None = None
        """Device and inode of the file that the connection uses."""
        _databases.add(self)

    @property
    def location(self) -> str:
        return self.file

    @contextlib.contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _explain(self.file):
            yield self._connect()

    @contextlib.contextmanager
    def write(self, name: str) -> Iterator[sqlite3.Connection]:  # noqa: ARG002  (SQLite has one writer at a time)
        with self._lock, _explain(self.file):
            connection = self._connect()
            connection.execute("begin immediate")
            try:
                yield connection
                connection.execute("commit")
            except BaseException:
                # A full disk may have ended the transaction already; a commit that failed has not.
                if connection.in_transaction:
                    connection.execute("rollback")
                raise

    def try_hold(self, name: str) -> Callable[[], None] | None:
        # A lock of the system on a file of its own: it is released when the process ends, however it ends.
        path = f"{self.file}.{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}.held"
        make_private_folder(os.path.dirname(self.file))
        while True:
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            except OSError as error:
                raise UnavailableError(
                    f"cannot use {path}: {error.strerror}", hint="check the permissions and the free space on the disk"
                ) from error
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return None
            if _identity(path) == _identity(descriptor):
                return functools.partial(_end_hold, path, descriptor)
            # The holder before us deleted the file after we had opened it.
            os.close(descriptor)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            if self._use is not None:
                self._use.end()
                self._use = None

    def __del__(self) -> None:
        self.close()

    def hold_for_fork(self) -> None:
        """Closes the connection and keeps it closed until `release_after_fork`."""
        self._lock.acquire()
        if self._connection is not None and not self._connection.in_transaction:
            self.close()

    def release_after_fork(self) -> None:
        self._lock.release()

    def _connect(self) -> sqlite3.Connection:
        # What is written to a file that another program has removed or replaced is lost.
        if self._connection is None or _identity(self.file) != self._identity:
            self.close()
            self._use = DatabaseUse(self.file)
            try:
                self._connection = self._open()
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                self._rename_damaged(self._use)
                self._connection = self._open()
            self._identity = _identity(self.file)
        return self._connection

    def _open(self) -> sqlite3.Connection:
        connection = open_sqlite(self.file, timeout=self._timeout, check_same_thread=False, write_ahead=True)
        try:
            if os.path.exists(self.file) and os.path.getsize(self.file):
                answer = connection.execute("pragma quick_check(1)").fetchone()[0]
                if answer != "ok":
                    raise sqlite3.DatabaseError(str(answer))
            version = _user_version(connection)
            if version > self._schema.version:
                raise UnavailableError(
                    f"{self.file} was written by a newer metier", hint="update metier, or move the file away", retryable=False
                )
            # Losing the last second after a power cut is acceptable; waiting for the disk at every activation is not.
            connection.execute("pragma synchronous = normal")
            if version < self._schema.version:
                self._create_tables(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _create_tables(self, connection: sqlite3.Connection) -> None:
        # A failure closes the connection, which rolls this back.
        connection.execute("begin immediate")
        if _user_version(connection) < self._schema.version:
            for statement in self._schema.statements(self.dialect, after=_user_version(connection)):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {self._schema.version}")
        connection.execute("commit")

    def _rename_damaged(self, use: DatabaseUse) -> None:
        """Renames a damaged file and its journals, unless another process has done that meanwhile."""
        alone = use.try_alone()
        try:
            self._open().close()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            if not alone:
                raise UnavailableError(
                    f"{self.file} is damaged ({error}) and in use by another process",
                    hint="end the other metier processes, then run the command again",
                ) from error
            self.damaged_copy = f"{self.file}.damaged-{int(time.time())}"
            use.rename(self.damaged_copy)
        finally:
            use.share()


def _hold_all() -> None:
    _forking[:] = list(_databases)
    for database in _forking:
        database.hold_for_fork()


def _release_all() -> None:
    for database in _forking:
        database.release_after_fork()
    _forking.clear()


os.register_at_fork(before=_hold_all, after_in_parent=_release_all, after_in_child=_release_all)


def _end_hold(path: str, descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
    # Unlocked, not only closed: a forked child may share the descriptor.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _identity(file: str | int) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _user_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("pragma user_version").fetchone()[0])


@contextlib.contextmanager
def _explain(file: str) -> Iterator[None]:
    """Turns SQLite's errors into ours, each with a hint."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise UnavailableError(f"{file} is in use by another process", hint="try again in a moment") from error
        raise UnavailableError(
            f"cannot use {file}: {error}", hint="check its permissions and the free space on its disk"
        ) from error
    except sqlite3.DatabaseError as error:
        raise UnavailableError(
            f"{file} is damaged: {error}", hint="run the command again: it renames the file and creates a new one"
        ) from error
