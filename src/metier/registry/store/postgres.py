"""The PostgreSQL engine: a pool of asynchronous connections.

A statement costs about 150 µs in the client. Package lookups that arrive during another lookup are therefore batched into one
statement.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from metier.errors import UnavailableError, UsageError, connection_problem
from metier.registry.domain.protocols import Changes

from .engine import Row, SnapshotReader, Transaction, unstorable

__all__ = ["PostgresEngine"]

_CONNECTIONS = 8
_TIMEOUT_SECONDS = 3.0
_SHORT_TIMEOUT_SECONDS = 0.1
_RETRY_SECONDS = 2.0
_STATEMENT_MS = 30_000
_BATCH = 500
# A search that reads the first matches of many must find the same ones each time: no parallel scan, none from the middle.
_OPTIONS = f"-c statement_timeout={_STATEMENT_MS} -c synchronize_seqscans=off -c max_parallel_workers_per_gather=0"
# A change is new if the earlier snapshot does not show its transaction, whenever that began.
_CHANGES = (
    "select cast(pg_current_snapshot() as text), c.kind, c.name from (select 1) one left join package_change c on"
    " c.changed >= pg_snapshot_xmin(cast(? as pg_snapshot)) and not pg_visible_in_snapshot(c.changed, cast(? as pg_snapshot))"
)
_BROKEN = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout)
Pool = AsyncConnectionPool[psycopg.AsyncConnection[Row]]
LookupKey = tuple[str, str]
_Batch = dict[LookupKey, asyncio.Future[Row | None]]


class PostgresEngine:
    dialect = "postgresql"

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._lookups: _Batch = {}
        self._lookup_task: asyncio.Task[None] | None = None
        self._unavailable_until = 0.0
        self._generation: asyncio.Future[Hashable] | None = None
        self._generation_task: asyncio.Task[None] | None = None

    @classmethod
    async def connect(cls, url: str) -> PostgresEngine:
        pool: Pool = AsyncConnectionPool(
            url, min_size=1, max_size=_CONNECTIONS, open=False, timeout=_TIMEOUT_SECONDS, reconnect_timeout=5.0,
            kwargs={"autocommit": True, "options": _OPTIONS, "connect_timeout": 5},
            name="registry",
        )  # fmt: skip
        try:
            await pool.open(wait=True, timeout=10)
        except BaseException as error:
            await pool.close(timeout=1)
            if isinstance(error, _BROKEN):
                raise _unavailable(error) from error
            raise
        return cls(pool)

    async def rows(self, sql: str, arguments: Sequence[object] = (), *, slow: bool = False) -> list[Row]:
        with _translate_errors():
            # The plan of a slow read depends on its arguments, so it is made each time.
            return await self._read(_to_psycopg(sql), arguments, prepare=False if slow else None)

    async def _read(self, sql: bytes, arguments: Sequence[object], *, prepare: bool | None = None) -> list[Row]:
        try:
            async with self._connect() as connection:
                return await (await connection.execute(sql, arguments, prepare=prepare)).fetchall()
        except psycopg.OperationalError:
            # A restart of the server breaks pooled connections; a read can be repeated.
            async with self._connect() as connection:
                return await (await connection.execute(sql, arguments, prepare=prepare)).fetchall()

    @contextlib.asynccontextmanager
    async def _connect(self) -> AsyncIterator[psycopg.AsyncConnection[Row]]:
        """Takes a connection from the pool. While the server is down, only the first caller waits for the full timeout."""
        timeout = _TIMEOUT_SECONDS if time.monotonic() > self._unavailable_until else _SHORT_TIMEOUT_SECONDS
        try:
            async with self._pool.connection(timeout=timeout) as connection:
                yield connection
        except PoolTimeout:
            self._unavailable_until = time.monotonic() + _RETRY_SECONDS
            raise

    async def generation(self) -> Hashable:
        """Returns the snapshot: which transactions are committed. One read answers all who asked before it began."""
        waiting = self._generation
        if waiting is None:
            waiting = self._generation = asyncio.get_running_loop().create_future()
            if self._generation_task is None:
                self._generation_task = asyncio.create_task(self._run_generations())
        return await asyncio.shield(waiting)

    async def changes(self, mark: Hashable) -> Changes:
        rows = await self.rows(_CHANGES, (mark, mark))
        if mark is None:
            return Changes(rows[0][0], rows[0][0], None)
        return Changes(rows[0][0], rows[0][0], frozenset((kind, name) for _, kind, name in rows if kind))

    async def _run_generations(self) -> None:
        try:
            while self._generation is not None:
                waiting, self._generation = self._generation, None
                try:
                    with _translate_errors():
                        [[snapshot]] = await self._read(b"select cast(pg_current_snapshot() as text)", ())
                    waiting.set_result(snapshot)
                except BaseException as error:
                    waiting.set_exception(error)
                    waiting.exception()
                    if not isinstance(error, Exception):
                        raise
        finally:
            self._generation_task = None

    async def find_package(self, columns: str, kind: str, name: str) -> Row | None:
        key = (kind, name)
        waiting = self._lookups.get(key)
        if waiting is None:
            waiting = self._lookups[key] = asyncio.get_running_loop().create_future()
            if self._lookup_task is None:
                self._lookup_task = asyncio.create_task(self._run_lookups(columns))
        return await asyncio.shield(waiting)

    async def _run_lookups(self, columns: str) -> None:
        """Runs batched lookups until none are left."""
        sql = _to_psycopg(
            f"select {columns} from package where (kind, name) in (select * from unnest(cast(? as text[]), cast(? as text[])))"
        )
        names = columns.split(", ")
        kind_at, name_at = names.index("kind"), names.index("name")
        alone: list[_Batch] = []
        try:
            while alone or self._lookups:
                if alone:
                    batch = alone.pop()
                else:
                    batch = dict(list(self._lookups.items())[:_BATCH])
                    for key in batch:
                        del self._lookups[key]
                try:
                    with _translate_errors():
                        rows = await self._read(sql, ([kind for kind, _ in batch], [name for _, name in batch]))
                    found = {(row[kind_at], row[name_at]): row for row in rows}
                    for key, waiting in batch.items():
                        if not waiting.done():
                            waiting.set_result(found.get(key))
                except UsageError as error:
                    if len(batch) == 1:
                        _fail(batch, error)
                    else:
                        # One key that the database refuses must not fail the others: each is looked up alone.
                        alone = [*({key: waiting} for key, waiting in batch.items()), *alone]
                except BaseException as error:
                    _fail(batch, error)
                    if not isinstance(error, Exception):
                        raise
        finally:
            self._lookup_task = None

    @contextlib.asynccontextmanager
    async def transaction(self, *, durable: bool = True) -> AsyncIterator[Transaction]:
        with _translate_errors():
            async with self._connect() as connection, connection.transaction():
                if not durable:
                    await connection.execute("set local synchronous_commit = off")
                yield _PostgresTransaction(connection)

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[SnapshotReader]:
        with _translate_errors():
            async with self._connect() as connection, connection.transaction():
                await connection.execute("set transaction isolation level repeatable read read only")
                yield _PostgresTransaction(connection)

    async def reset_sequence(self, transaction: Transaction, table: str) -> None:
        await transaction.rows(
            f"select setval(pg_get_serial_sequence('{table}', 'id'), greatest(1, (select coalesce(max(id), 1) from {table})))"
        )

    async def lock(self, transaction: Transaction, name: str, *, shared: bool = False) -> None:
        function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        await transaction.rows(f"select {function}(hashtextextended(?, 0))", (name,))

    async def close(self) -> None:
        for task in (self._lookup_task, self._generation_task):
            if task:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        await self._pool.close(timeout=5)


class _PostgresTransaction:
    text_order = ' collate "C"'

    def __init__(self, connection: psycopg.AsyncConnection[Row]) -> None:
        self._connection = connection

    async def rows(self, sql: str, arguments: Sequence[object] = ()) -> list[Row]:
        cursor = await self._connection.execute(_to_psycopg(sql), arguments)
        return await cursor.fetchall() if cursor.description else []

    async def execute_many(self, sql: str, arguments: Iterable[Sequence[object]]) -> None:
        held = list(arguments)
        if held:
            async with self._connection.cursor() as cursor:
                await cursor.executemany(_to_psycopg(sql), held)


def _fail(batch: _Batch, error: BaseException) -> None:
    for waiting in batch.values():
        if not waiting.done():
            waiting.set_exception(error)
            waiting.exception()


@lru_cache(maxsize=512)
def _to_psycopg(sql: str) -> bytes:
    return sql.replace("%", "%%").replace("?", "%s").encode()


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise _unavailable(error) from error
    except (psycopg.DataError, UnicodeEncodeError) as error:
        raise unstorable(error) from error


def _unavailable(error: Exception) -> UnavailableError:
    why = connection_problem(error)
    return UnavailableError(f"the registry cannot reach its database: {why}", hint="try again in a moment; nothing was changed")
