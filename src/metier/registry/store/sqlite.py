"""The SQLite engine: reads on the event loop, writes on one thread.

A read of one row takes about 20 µs and a hop to a thread several times as long, so short reads run on the event loop. A
write waits for the disk and for other processes, so it runs on the writer's thread, one transaction at a time.

Package rows are cached until `PRAGMA data_version` changes, which any commit of another connection or process does.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from metier.errors import UnavailableError
from metier.registry.domain.protocols import Changes
from metier.sources import open_sqlite

from .engine import Row, SnapshotReader, Transaction, unstorable

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
        self._thread_local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._write_lock = asyncio.Lock()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._cached: dict[tuple[str, str], Row] = {}
        self._cached_version = -1

    async def rows(self, sql: str, arguments: Sequence[object] = (), *, slow: bool = False) -> list[Row]:
        if slow:
            return await asyncio.get_running_loop().run_in_executor(self._searchers, self._search, sql, arguments)
        with self._reading() as reader:
            return reader.execute(sql, arguments).fetchall()

    def _search(self, sql: str, arguments: Sequence[object]) -> list[Row]:
        """Runs on one of the search threads, each of which has its own connection."""
        with _translate_errors():
            connection: sqlite3.Connection | None = getattr(self._thread_local, "connection", None)
            if connection is None:
                connection = self._thread_local.connection = self._connect(check_same_thread=False)
                self._opened.append(connection)
            return connection.execute(sql, arguments).fetchall()

    async def generation(self) -> Hashable:
        with self._reading() as reader:
            version: int = reader.execute("pragma data_version").fetchone()[0]
            return version

    async def changes(self, mark: Hashable) -> Changes:
        with self._reading() as reader:
            # The version is read first, so a commit between the two is seen again by the next call.
            version: int = reader.execute("pragma data_version").fetchone()[0]
            if mark is None:
                last = reader.execute("select coalesce(max(number), 0) from package_change").fetchone()[0]
                return Changes(version, last, None)
            rows = reader.execute(
                "select kind, name, number from package_change where number > ? order by number", (mark,)
            ).fetchall()
            return Changes(version, rows[-1][2] if rows else mark, frozenset((kind, name) for kind, name, _ in rows))

    async def find_package(self, columns: str, kind: str, name: str) -> Row | None:
        key = (kind, name)
        with self._reading() as reader:
            version: int = reader.execute("pragma data_version").fetchone()[0]
            if version != self._cached_version or len(self._cached) > _MOST_CACHED:
                self._cached.clear()
                self._cached_version = version
            row = self._cached.get(key)
            if row is None:
                # The version is read before the row, so a commit between the two empties the cache at the next read.
                row = reader.execute(f"select {columns} from package where kind = ? and name = ?", key).fetchone()
                if row is not None:
                    # Unknown names are not kept: there is no end to them.
                    self._cached[key] = row
            return row

    @contextlib.asynccontextmanager
    async def transaction(self, *, durable: bool = True) -> AsyncIterator[Transaction]:
        async with self._write_lock:
            await self._on_writer_thread(lambda writer: _begin(writer, durable))
            try:
                yield _SqliteTransaction(self._on_writer_thread)
            except BaseException:
                # A failed rollback has nothing to undo. A cancelled task must still roll back.
                with contextlib.suppress(UnavailableError):
                    await asyncio.shield(self._on_writer_thread(lambda writer: writer.rollback()))
                raise
            await self._on_writer_thread(lambda writer: writer.commit())

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[SnapshotReader]:
        with _translate_errors():
            connection = self._connect(check_same_thread=False)
            try:
                connection.execute("begin")
                yield _SqliteReader(connection)
            finally:
                connection.close()

    async def reset_sequence(self, transaction: Transaction, table: str) -> None:
        """SQLite continues after the highest id by itself."""

    async def lock(self, transaction: Transaction, name: str, *, shared: bool = False) -> None:
        """`begin immediate` already holds the only write lock."""

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
        with _translate_errors():
            if self._reader is None:
                self._reader = self._connect(check_same_thread=False)
                self._reader.execute("pragma query_only = on")
                self._reader.execute(f"pragma mmap_size = {_MAPPED_BYTES}")
            yield self._reader

    async def _on_writer_thread(self, do: Callable[[sqlite3.Connection], T]) -> T:
        """Runs a function on the writer's thread."""

        def run() -> T:
            with _translate_errors():
                if self._writer is None:
                    self._writer = self._connect()
                return do(self._writer)

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    def _connect(self, *, check_same_thread: bool = True) -> sqlite3.Connection:
        connection = open_sqlite(
            self.path,
            timeout=_BUSY_MS / 1000,
            check_same_thread=check_same_thread,
            cached_statements=256,
            write_ahead=True,
        )
        try:
            for pragma in ("synchronous = full", "foreign_keys = on", f"cache_size = -{_CACHE_KIB}", "temp_store = memory"):
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
        with _translate_errors():
            return await asyncio.to_thread(lambda: self._connection.execute(sql, arguments).fetchall())


class _SqliteTransaction:
    text_order = ""

    def __init__(self, run: Callable[[Callable[[sqlite3.Connection], list[Row]]], Awaitable[list[Row]]]) -> None:
        self._on_writer_thread = run

    async def rows(self, sql: str, arguments: Sequence[object] = ()) -> list[Row]:
        return await self._on_writer_thread(lambda writer: writer.execute(sql, arguments).fetchall())

    async def execute_many(self, sql: str, arguments: Iterable[Sequence[object]]) -> None:
        held = list(arguments)
        await self._on_writer_thread(lambda writer: writer.executemany(sql, held).fetchall())


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except sqlite3.DatabaseError as error:
        raise _unavailable(error) from error
    except OSError as error:
        raise _error(f"{(error.strerror or str(error)).lower()}") from error
    except (OverflowError, UnicodeEncodeError) as error:
        raise unstorable(error) from error


def _begin(writer: sqlite3.Connection, durable: bool) -> None:
    if writer.in_transaction:
        # The task that began this transaction was cancelled before it could roll back.
        writer.rollback()
    writer.execute(f"pragma synchronous = {'full' if durable else 'normal'}")
    writer.execute("begin immediate")


def _unavailable(error: sqlite3.Error) -> UnavailableError:
    name = getattr(error, "sqlite_errorname", "") or type(error).__name__
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return UnavailableError(
            f"the registry's database is damaged: {error}",
            hint="stop the server and restore a backup: `metier registry restore FOLDER`",
            retryable=False,
        )
    why = {
        "SQLITE_FULL": "its disk is full",
        "SQLITE_READONLY": "its disk is read-only",
        "SQLITE_BUSY": "another process is writing",
        "SQLITE_CANTOPEN": "its file cannot be opened",
    }.get(name.replace("_DBMOVED", "").replace("_DIRECTORY", ""), f"{name}: {error}")
    return _error(why)


def _error(why: str) -> UnavailableError:
    return UnavailableError(f"the registry cannot use its database: {why}", hint="try again in a moment; nothing was changed")
