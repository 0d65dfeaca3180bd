"""SQLite: reads on the spot, writes on one thread.

A read of one row takes 13 µs, and a thread's hop five times as much, so reads run on the event loop itself. A write
waits for the disk (and for other processes), so it runs on the writer's thread, one transaction at a time.

Most of a read is asking the kernel for a lock. What is read most is therefore remembered, for as long as the header of
the write-ahead log's index stays the same: 48 bytes of memory that every process shares and every commit changes. SQLite
decides by the same comparison whether the pages it has in memory are still good.
"""

from __future__ import annotations

import asyncio
import contextlib
import mmap
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
_INDEX_HEADER = 48
_MOST_CARDS = 12_000


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
        self._index: mmap.mmap | None = None
        self._stamp = b""
        self._cards: dict[tuple[str, str], Row | None] = {}

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
        stamp = self._index[:_INDEX_HEADER] if self._index else b""
        if stamp != self._stamp or len(self._cards) > _MOST_CARDS:
            self._cards.clear()
            self._stamp = stamp
        key = (kind, name)
        if stamp and key in self._cards:
            return self._cards[key]
        with self._reading() as reader:
            found: Row | None = reader.execute(f"select {columns} from package where kind = ? and name = ?", key).fetchone()
        # The stamp is older than the row, so a commit between the two is noticed next time.
        self._cards[key] = found
        return found

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
        if self._index:
            self._index.close()
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
                self._index = self._mapped()
            yield self._reader

    async def _there(self, do: Callable[[sqlite3.Connection], T]) -> T:
        """On the writer's thread."""

        def run() -> T:
            with _telling():
                if self._writer is None:
                    self._writer = self._connected()
                return do(self._writer)

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    def _mapped(self) -> mmap.mmap | None:
        """The index of the write-ahead log, shared with every process that has the database open."""
        try:
            with open(f"{self.path}-shm", "rb") as file:
                return mmap.mmap(file.fileno(), _INDEX_HEADER, prot=mmap.PROT_READ)
        except (OSError, ValueError):
            return None

    def _connected(self, **options: bool) -> sqlite3.Connection:
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        # Hashes of tokens and private skills are in it.
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
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
