"""One SQLite file that several processes may use at once.

Every change is one transaction that reads, decides and writes. A damaged file is renamed, never deleted, and a new one is
created; `damaged_copy` says where the old one is. Only sqlite3 opens the file: closing any other descriptor of it would
release the locks that this process holds.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator

from metier.errors import UnavailableError
from metier.sources import create_private_file, file_lock

__all__ = ["Database"]


class Database:
    """Opened on first use. `schema` creates the tables of a new file; a file with a later `version` is left alone."""

    def __init__(self, file: str | os.PathLike[str], *, schema: str, version: int = 1, timeout: float = 5.0) -> None:
        self.file = os.path.abspath(file)
        self.damaged_copy: str | None = None
        """The new path of a damaged file, if there was one."""
        self._schema = schema
        self._version = version
        self._timeout = timeout
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        """The process that opened the connection."""

    @contextlib.contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _explain(self.file):
            yield self._connect()

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction: committed at the end of the block, rolled back by an error."""
        with self._lock, _explain(self.file):
            connection = self._connect()
            connection.execute("begin immediate")
            try:
                yield connection
            except BaseException:
                connection.execute("rollback")
                raise
            connection.execute("commit")

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
                self._connection = None

    def __del__(self) -> None:
        self.close()

    def _connect(self) -> sqlite3.Connection:
        # A connection must not cross a fork: both processes would write through one lock. And what is written to a file
        # that another program has removed is lost.
        if self._connection is None or self._process != os.getpid() or not os.path.exists(self.file):
            self.close()
            os.makedirs(os.path.dirname(self.file), mode=0o700, exist_ok=True)
            try:
                self._connection = self._open()
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                with file_lock(self.file):
                    self.damaged_copy = self._rename_damaged() or self.damaged_copy
                self._connection = self._open()
            self._process = os.getpid()
        return self._connection

    def _open(self) -> sqlite3.Connection:
        self._create_private()
        connection = sqlite3.connect(self.file, timeout=self._timeout, isolation_level=None, check_same_thread=False)
        try:
            if os.path.exists(self.file) and os.path.getsize(self.file):
                answer = connection.execute("pragma quick_check(1)").fetchone()[0]
                if answer != "ok":
                    raise sqlite3.DatabaseError(str(answer))
            version = _user_version(connection)
            if version > self._version:
                raise UnavailableError(
                    f"{self.file} was written by a newer metier", hint="update metier, or move the file away", retryable=False
                )
            # Losing the last second after a power cut is acceptable; waiting for the disk at every activation is not.
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = normal")
            if version < self._version:
                self._create_tables(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _create_private(self) -> None:
        """Creates an empty file that only its owner can read; SQLite gives its journals the same mode.

        The file is closed before it gets the database's name. Where that fails, opening it says why.
        """
        if os.path.lexists(self.file):
            return
        with contextlib.suppress(OSError):
            descriptor, temporary = create_private_file(os.path.dirname(self.file), ".new-")
            os.close(descriptor)
            try:
                os.link(temporary, self.file)
            finally:
                os.unlink(temporary)

    def _create_tables(self, connection: sqlite3.Connection) -> None:
        connection.execute("begin immediate")
        if _user_version(connection) < self._version:
            for statement in self._schema.split(";"):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {self._version}")
        connection.execute("commit")

    def _rename_damaged(self) -> str | None:
        """Renames a damaged file and its journals; returns None if another process has done that meanwhile."""
        try:
            self._open().close()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            target = f"{self.file}.damaged-{int(time.time())}"
            for suffix in ("", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.replace(f"{self.file}{suffix}", f"{target}{suffix}")
            return target
        return None


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
