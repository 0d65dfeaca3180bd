"""One SQLite file that several processes may use at once.

Every change is one transaction that reads, decides and writes. A file that is damaged is set aside under another name,
never deleted, and a new one is begun; whoever asks is told.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator

from metier.errors import UnavailableError
from metier.sources import file_lock

__all__ = ["Database"]


class Database:
    """Opened when it is first used. `schema` is what makes a new file; a file of a later `version` is left alone."""

    def __init__(self, file: str | os.PathLike[str], *, schema: str, version: int = 1, wait: float = 5.0) -> None:
        self.file = os.path.abspath(file)
        self.damaged_copy: str | None = None
        """Where a damaged file was moved, if that happened."""
        self._schema = schema
        self._version = version
        self._wait = wait
        self._lock = threading.RLock()
        self._open: sqlite3.Connection | None = None
        self._opened_by = 0

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _explained(self.file):
            yield self._connection()

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _explained(self.file):
            db = self._connection()
            db.execute("begin immediate")
            try:
                yield db
            except BaseException:
                db.execute("rollback")
                raise
            db.execute("commit")

    def close(self) -> None:
        with self._lock:
            if self._open is not None and self._opened_by == os.getpid():
                self._open.close()
                self._open = None

    def __del__(self) -> None:
        self.close()

    def _connection(self) -> sqlite3.Connection:
        # A connection must not cross a fork: both would write through one lock.
        # And somebody may have removed the file under us: what is written to it then is lost.
        if self._open is None or self._opened_by != os.getpid() or not os.path.exists(self.file):
            self.close()
            os.makedirs(os.path.dirname(self.file), mode=0o700, exist_ok=True)
            try:
                self._open = self._connected()
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                with file_lock(self.file):
                    self.damaged_copy = self._moved_aside() or self.damaged_copy
                self._open = self._connected()
            self._opened_by = os.getpid()
        return self._open

    def _connected(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.file, timeout=self._wait, isolation_level=None, check_same_thread=False)
        try:
            if os.path.exists(self.file) and os.path.getsize(self.file):
                answer = db.execute("pragma quick_check(1)").fetchone()[0]
                if answer != "ok":
                    raise sqlite3.DatabaseError(str(answer))
            version = _version(db)
            if version > self._version:
                raise UnavailableError(
                    f"{self.file} was written by a newer metier", hint="update metier, or move the file away", retryable=False
                )
            # A lost last second after a power cut is fine; waiting for the disk at every activation is not.
            db.execute("pragma journal_mode = wal")
            db.execute("pragma synchronous = normal")
            if version < self._version:
                self._make(db)
            with contextlib.suppress(OSError):
                os.chmod(self.file, 0o600)
        except BaseException:
            db.close()
            raise
        return db

    def _make(self, db: sqlite3.Connection) -> None:
        db.execute("begin immediate")
        if _version(db) < self._version:
            for statement in self._schema.split(";"):
                db.execute(statement)
            db.execute(f"pragma user_version = {self._version}")
        db.execute("commit")

    def _moved_aside(self) -> str | None:
        """Move a damaged file and its journals; None if somebody else has done so meanwhile."""
        try:
            self._connected().close()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            target = f"{self.file}.damaged-{int(time.time())}"
            for ending in ("", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.replace(f"{self.file}{ending}", f"{target}{ending}")
            return target
        return None


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("pragma user_version").fetchone()[0])


@contextlib.contextmanager
def _explained(file: str) -> Iterator[None]:
    """SQLite's errors as ours, each with what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise UnavailableError(f"{file} is in use by another process", hint="try again in a moment") from error
        raise UnavailableError(
            f"{file} cannot be used: {error}", hint="check its permissions and the free space on its disk"
        ) from error
    except sqlite3.DatabaseError as error:
        raise UnavailableError(
            f"{file} is damaged: {error}", hint="start again: the file is then set aside and a new one begun"
        ) from error
