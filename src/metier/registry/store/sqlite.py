"""The SQLite engine: reads on the event loop, writes on one thread.

A read of one row takes about 20 µs and a hop to a thread several times as long, so short reads run on the event loop. A
write waits for the disk and for other processes, so it runs on the writer's thread, one transaction at a time.

Package rows are cached until `PRAGMA data_version` changes, which any commit of another connection or process does.

Nothing here opens the database file outside SQLite while a connection exists: closing such a descriptor drops the POSIX
locks of the whole process, and with them the protection of transactions that are under way.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from metier.errors import UnavailableError

from .engine import Row, SnapshotReader, Transaction

__all__ = ["SqliteEngine"]

T = TypeVar("T")
_BUSY_MS = 10_000
_CACHE_KIB = 8 * 1024
_MAPPED_BYTES = 32 * 1024 * 1024
_MOST_CACHED = 12_000


class SqliteEngine:
    dialect = "sqlite"

    def __init__(self, path: str) -> None:
        self.path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="registry-writer")
        self._searchers = ThreadPoolExecutor(2, thread_name_prefix="registry-searcher")
        self._own = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._turn = asyncio.Lock()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._cached: dict[tuple[str, str], Row | None] = {}
        self._cached_version = -1

    async def rows(self, sql: str, arguments: Sequence[object] = (), *, slow: bool = False) -> list[Row]:
        if slow:
            return await asyncio.get_running_loop().run_in_executor(self._searchers, self._searched, sql, arguments)
        with self._reading() as reader:
            return reader.execute(sql, arguments).fetchall()

    def _searched(self, sql: str, arguments: Sequence[object]) -> list[Row]:
        """On one of the threads for searches, each of which has a connection of its own."""
        with _telling():
            connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
            if connection is None:
                connection = self._own.connection = self._connected(check_same_thread=False)
                self._opened.append(connection)
            return connection.execute(sql, arguments).fetchall()

    async def find_package(self, columns: str, kind: str, name: str) -> Row | None:
        key = (kind, name)
        with self._reading() as reader:
            version: int = reader.execute("pragma data_version").fetchone()[0]
            if version != self._cached_version or len(self._cached) > _MOST_CACHED:
                self._cached.clear()
                self._cached_version = version
            if key not in self._cached:
                # The version is read before the row, so a commit between the two empties the cache at the next read.
                self._cached[key] = reader.execute(f"select {columns} from package where kind = ? and name = ?", key).fetchone()
            return self._cached[key]

    @contextlib.asynccontextmanager
    async def writing(self, *, durable: bool = True) -> AsyncIterator[Transaction]:
        async with self._turn:
            await self._there(lambda writer: _begin(writer, durable))
            try:
                yield _SqliteWork(self._there)
            except BaseException:
                # A rollback that fails has nothing left to roll back; a cancelled task still has to make it.
                with contextlib.suppress(UnavailableError):
                    await asyncio.shield(self._there(lambda writer: writer.rollback()))
                raise
            await self._there(lambda writer: writer.commit())

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[SnapshotReader]:
        with _telling():
            connection = self._connected(check_same_thread=False)
            try:
                connection.execute("begin")
                yield _SqliteReader(connection)
            finally:
                connection.close()

    async def counted(self, work: Transaction, table: str) -> None:
        """SQLite counts on from the highest by itself."""

    async def lock(self, work: Transaction, name: str) -> None:
        """There is one writer, and `begin immediate` made it us."""

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown()
        self._searchers.shutdown()
        for connection in self._opened:
            connection.close()
        if self._reader:
            self._reader.close()

    def _close(self) -> None:
        if self._writer:
            with contextlib.suppress(sqlite3.DatabaseError):
                self._writer.execute("pragma optimize")
            self._writer.close()

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with _telling():
            if self._reader is None:
                self._reader = self._connected(check_same_thread=False)
                self._reader.execute("pragma query_only = on")
                self._reader.execute(f"pragma mmap_size = {_MAPPED_BYTES}")
            yield self._reader

    async def _there(self, do: Callable[[sqlite3.Connection], T]) -> T:
        """On the writer's thread."""

        def run() -> T:
            with _telling():
                if self._writer is None:
                    self._writer = self._connected()
                return do(self._writer)

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    def _connected(self, **options: bool) -> sqlite3.Connection:
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        # It holds token hashes and private skills. O_EXCL: an existing file is not opened (see above).
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=_BUSY_MS / 1000, cached_statements=256, **options)
        try:
            for pragma in (
                "journal_mode = wal", "synchronous = full", "foreign_keys = on", f"cache_size = -{_CACHE_KIB}",
                "temp_store = memory",
            ):  # fmt: skip
                connection.execute(f"pragma {pragma}")
        except BaseException:
            connection.close()
            raise
        return connection


class _SqliteReader:
    text_order = ""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def rows(self, sql: str, arguments: Sequence[object] = ()) -> list[Row]:
        with _telling():
            return await asyncio.to_thread(lambda: self._connection.execute(sql, arguments).fetchall())


class _SqliteWork:
    def __init__(self, there: Callable[[Callable[[sqlite3.Connection], list[Row]]], Awaitable[list[Row]]]) -> None:
        self._there = there

    async def rows(self, sql: str, arguments: Sequence[object] = ()) -> list[Row]:
        return await self._there(lambda writer: writer.execute(sql, arguments).fetchall())

    async def many(self, sql: str, arguments: Iterable[Sequence[object]]) -> None:
        held = list(arguments)
        await self._there(lambda writer: writer.executemany(sql, held).fetchall())


@contextlib.contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except sqlite3.DatabaseError as error:
        raise _unavailable(error) from error
    except OSError as error:
        raise _unusable(f"{(error.strerror or str(error)).lower()}") from error


def _begin(writer: sqlite3.Connection, durable: bool) -> None:
    if writer.in_transaction:
        # Whoever began it was cancelled before it could be told so.
        writer.rollback()
    writer.execute(f"pragma synchronous = {'full' if durable else 'normal'}")
    writer.execute("begin immediate")


def _unavailable(error: sqlite3.Error) -> UnavailableError:
    name = getattr(error, "sqlite_errorname", "") or type(error).__name__
    why = {
        "SQLITE_FULL": "its disk is full",
        "SQLITE_READONLY": "its disk is read-only",
        "SQLITE_BUSY": "another process is writing",
        "SQLITE_CANTOPEN": "its file cannot be opened",
    }.get(name.replace("_DBMOVED", "").replace("_DIRECTORY", ""), f"{name}: {error}")
    return _unusable(why)


def _unusable(why: str) -> UnavailableError:
    return UnavailableError(f"the registry cannot use its database: {why}", hint="try again in a moment; nothing was changed")
