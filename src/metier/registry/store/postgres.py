"""PostgreSQL, by a pool of asynchronous connections.

Looking up one package costs 150 µs on the client's side alone, most of it for being one statement. So lookups that come
while another is under way wait for it and then go together, in one statement: the busier a worker is, the cheaper they get.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from functools import lru_cache

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from metier.errors import UnavailableError

from .engine import Row, SnapshotReader, Transaction

__all__ = ["PostgresEngine"]

_CONNECTIONS = 8
_PATIENCE_SECONDS = 3.0
_SHORT_SECONDS = 0.1
_AWAY_SECONDS = 2.0
_STATEMENT_MS = 30_000
_BATCH = 500
_BROKEN = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout)
Pool = AsyncConnectionPool[psycopg.AsyncConnection[Row]]
Asked = tuple[str, str]


class PostgresEngine:
    dialect = "postgresql"

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._asked: dict[Asked, asyncio.Future[Row | None]] = {}
        self._asking: asyncio.Task[None] | None = None
        self._away_until = 0.0

    @classmethod
    async def connect(cls, url: str) -> PostgresEngine:
        pool: Pool = AsyncConnectionPool(
            url, min_size=1, max_size=_CONNECTIONS, open=False, timeout=_PATIENCE_SECONDS, reconnect_timeout=5.0,
            kwargs={"autocommit": True, "options": f"-c statement_timeout={_STATEMENT_MS}", "connect_timeout": 5},
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

    async def rows(self, sql: str, arguments: Sequence[object] = (), *, slow: bool = False) -> list[Row]:  # noqa: ARG002
        with _telling():
            return await self._read(_written(sql), arguments)

    async def _read(self, sql: bytes, arguments: Sequence[object]) -> list[Row]:
        try:
            async with self._connected() as connection:
                return await (await connection.execute(sql, arguments)).fetchall()
        except psycopg.OperationalError:
            # A connection may have died in the pool while the server was restarted; a read can simply be made again.
            async with self._connected() as connection:
                return await (await connection.execute(sql, arguments)).fetchall()

    @contextlib.asynccontextmanager
    async def _connected(self) -> AsyncIterator[psycopg.AsyncConnection[Row]]:
        """One of the pool's. While the server is away only the first to notice waits; the others are told at once."""
        patience = _PATIENCE_SECONDS if time.monotonic() > self._away_until else _SHORT_SECONDS
        try:
            async with self._pool.connection(timeout=patience) as connection:
                yield connection
        except PoolTimeout:
            self._away_until = time.monotonic() + _AWAY_SECONDS
            raise

    async def find_package(self, columns: str, kind: str, name: str) -> Row | None:
        key = (kind, name)
        waiting = self._asked.get(key)
        if waiting is None:
            waiting = self._asked[key] = asyncio.get_running_loop().create_future()
            if self._asking is None:
                self._asking = asyncio.create_task(self._ask(columns))
        return await asyncio.shield(waiting)

    async def _ask(self, columns: str) -> None:
        """Answer everything that is asked until nothing more is."""
        sql = _written(
            f"select {columns} from package where (kind, name) in (select * from unnest(cast(? as text[]), cast(? as text[])))"
        )
        names = columns.split(", ")
        kind_at, name_at = names.index("kind"), names.index("name")
        try:
            while self._asked:
                asked = dict(list(self._asked.items())[:_BATCH])
                for key in asked:
                    del self._asked[key]
                try:
                    with _telling():
                        rows = await self._read(sql, ([kind for kind, _ in asked], [name for _, name in asked]))
                    found = {(row[kind_at], row[name_at]): row for row in rows}
                    for key, waiting in asked.items():
                        if not waiting.done():
                            waiting.set_result(found.get(key))
                except BaseException as error:
                    for waiting in asked.values():
                        if not waiting.done():
                            waiting.set_exception(error)
                            waiting.exception()
                    if not isinstance(error, Exception):
                        raise
        finally:
            self._asking = None

    @contextlib.asynccontextmanager
    async def writing(self, *, durable: bool = True) -> AsyncIterator[Transaction]:
        with _telling():
            async with self._connected() as connection, connection.transaction():
                if not durable:
                    await connection.execute("set local synchronous_commit = off")
                yield _PostgresWork(connection)

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[SnapshotReader]:
        with _telling():
            async with self._connected() as connection, connection.transaction():
                await connection.execute("set transaction isolation level repeatable read read only")
                yield _PostgresWork(connection)

    async def counted(self, work: Transaction, table: str) -> None:
        await work.rows(
            f"select setval(pg_get_serial_sequence('{table}', 'id'), greatest(1, (select coalesce(max(id), 1) from {table})))"
        )

    async def lock(self, work: Transaction, name: str) -> None:
        await work.rows("select pg_advisory_xact_lock(hashtextextended(?, 0))", (name,))

    async def close(self) -> None:
        if self._asking:
            self._asking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._asking
        await self._pool.close(timeout=5)


class _PostgresWork:
    text_order = ' collate "C"'

    def __init__(self, connection: psycopg.AsyncConnection[Row]) -> None:
        self._connection = connection

    async def rows(self, sql: str, arguments: Sequence[object] = ()) -> list[Row]:
        cursor = await self._connection.execute(_written(sql), arguments)
        return await cursor.fetchall() if cursor.description else []

    async def many(self, sql: str, arguments: Iterable[Sequence[object]]) -> None:
        held = list(arguments)
        if held:
            async with self._connection.cursor() as cursor:
                await cursor.executemany(_written(sql), held)


@lru_cache(maxsize=512)
def _written(sql: str) -> bytes:
    return sql.replace("%", "%%").replace("?", "%s").encode()


@contextlib.contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise _unavailable(error) from error


def _unavailable(error: Exception) -> UnavailableError:
    why = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return UnavailableError(f"the registry cannot reach its database: {why}", hint="try again in a moment; nothing was changed")
