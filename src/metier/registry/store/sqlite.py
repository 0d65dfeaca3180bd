"""SQLite: reads on the spot, writes on one thread.

A read of one row takes 13 µs, and a thread's hop five times as much, so reads run on the event loop itself. A write
waits for the disk (and for other processes), so it runs on the writer's thread, one transaction at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from metier.errors import Unavailable

from .engine import Row, Work

__all__ = ["SqliteEngine"]

T = TypeVar("T")
_BUSY_MS = 10_000
_CACHE_KIB = 16 * 1024
_BROKEN = (sqlite3.OperationalError, sqlite3.DatabaseError)


class SqliteEngine:
    dialect = "sqlite"

    def __init__(self, path: str) -> None:
        self.path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="registry-writer")
        self._turn = asyncio.Lock()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None

    async def rows(self, sql: str, arguments: Sequence[object] = ()) -> list[Row]:
        with self._reading() as reader:
            return reader.execute(sql, arguments).fetchall()

    async def card(self, columns: str, kind: str, name: str) -> Row | None:
        with self._reading() as reader:
            found: Row | None = reader.execute(
                f"select {columns} from package where kind = ? and name = ?",
                (kind, name),
            ).fetchone()
            return found

    @contextlib.asynccontextmanager
    async def writing(self, *, durable: bool = True) -> AsyncIterator[Work]:
        async with self._turn:
            await self._there(lambda writer: _begin(writer, durable))
            try:
                yield _SqliteWork(self._there)
            except BaseException:
                # A rollback that fails has nothing left to roll back; a cancelled task still has to make it.
                with contextlib.suppress(Unavailable):
                    await asyncio.shield(self._there(lambda writer: writer.rollback()))
                raise
            await self._there(lambda writer: writer.commit())

    async def lock(self, work: Work, name: str) -> None:
        """There is one writer, and `begin immediate` made it us."""

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown()
        if self._reader:
            self._reader.close()

    def _close(self) -> None:
        if self._writer:
            with contextlib.suppress(*_BROKEN):
                self._writer.execute("pragma optimize")
            self._writer.close()

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            if self._reader is None:
                self._reader = self._connected(check_same_thread=False)
                self._reader.execute("pragma query_only = on")
            yield self._reader
        except _BROKEN as error:
            raise _unavailable(error) from error

    async def _there(self, do: Callable[[sqlite3.Connection], T]) -> T:
        """On the writer's thread."""

        def run() -> T:
            try:
                if self._writer is None:
                    self._writer = self._connected()
                return do(self._writer)
            except sqlite3.IntegrityError:
                raise
            except _BROKEN as error:
                raise _unavailable(error) from error

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    def _connected(self, **options: bool) -> sqlite3.Connection:
        if self.path != ":memory:":
            folder = os.path.dirname(self.path)
            if folder:
                os.makedirs(folder, mode=0o700, exist_ok=True)
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=_BUSY_MS / 1000, cached_statements=256, **options)
        try:
            for pragma in (
                "journal_mode = wal", "synchronous = full", "foreign_keys = on", f"cache_size = -{_CACHE_KIB}",
                "temp_store = memory", "mmap_size = 268435456",
            ):  # fmt: skip
                connection.execute(f"pragma {pragma}")
        except BaseException:
            connection.close()
            raise
        return connection


class _SqliteWork:
    def __init__(self, there: Callable[[Callable[[sqlite3.Connection], list[Row]]], Awaitable[list[Row]]]) -> None:
        self._there = there

    async def rows(self, sql: str, arguments: Sequence[object] = ()) -> list[Row]:
        return await self._there(lambda writer: writer.execute(sql, arguments).fetchall())

    async def many(self, sql: str, arguments: Iterable[Sequence[object]]) -> None:
        held = list(arguments)
        await self._there(lambda writer: writer.executemany(sql, held).fetchall())


def _begin(writer: sqlite3.Connection, durable: bool) -> None:
    writer.execute(f"pragma synchronous = {'full' if durable else 'normal'}")
    writer.execute("begin immediate")


def _unavailable(error: sqlite3.Error) -> Unavailable:
    name = getattr(error, "sqlite_errorname", "") or type(error).__name__
    why = {
        "SQLITE_FULL": "its disk is full",
        "SQLITE_READONLY": "its disk is read-only",
        "SQLITE_BUSY": "another process is writing",
        "SQLITE_CANTOPEN": "its file cannot be opened",
    }.get(name.replace("_DBMOVED", "").replace("_DIRECTORY", ""), f"{name}: {error}")
    return Unavailable(f"the registry cannot use its database: {why}", hint="try again in a moment; nothing was changed")
