"""The interface of the database engines, so that the same SQL runs on SQLite and PostgreSQL.

Placeholders are `?`. A read is one statement and sees everything committed before it. A write is a transaction.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from metier.errors import UsageError
from metier.registry.domain.protocols import Changes

__all__ = ["Engine", "Row", "RowReader", "SnapshotReader", "Transaction", "unstorable"]

Row = tuple[Any, ...]  # Any: the columns depend on the statement


def unstorable(error: Exception) -> UsageError:
    """Returns the error for a value that a database cannot hold: a NUL or half a surrogate pair, or too large a number."""
    reason = str(error).strip().splitlines()[0][:200]
    return UsageError(f"the database cannot store a value of this request: {reason}", hint="remove unusual characters")


class RowReader(Protocol):
    async def rows(self, sql: str, arguments: Sequence[object] = ()) -> list[Row]: ...


class SnapshotReader(RowReader, Protocol):
    """Reads from one snapshot of the database."""

    text_order: str
    """The SQL suffix that sorts a text column by bytes."""


class Transaction(SnapshotReader, Protocol):
    """Statements in one transaction."""

    async def execute_many(self, sql: str, arguments: Iterable[Sequence[object]]) -> None: ...


class Engine(Protocol):
    dialect: str

    async def rows(self, sql: str, arguments: Sequence[object] = (), *, slow: bool = False) -> list[Row]:
        """Runs one read. A slow one reads many rows and must not block other reads."""

    async def generation(self) -> Hashable:
        """Two equal values mean that nothing was committed between the two calls, by any process."""

    async def changes(self, mark: Hashable) -> Changes:
        """Returns what was committed after an earlier call that returned this mark; None for the first."""

    def transaction(self, *, durable: bool = True) -> AbstractAsyncContextManager[Transaction]:
        """Commits at the end of the block, rolls back if it raises. A non-durable one may be lost in a power failure."""

    def snapshot(self) -> AbstractAsyncContextManager[SnapshotReader]: ...

    async def reset_sequence(self, transaction: Transaction, table: str) -> None:
        """Continues ids after the highest one, after rows were inserted with their ids."""

    async def find_package(self, columns: str, kind: str, name: str) -> Row | None:
        """Returns one row of `package`. This is the most frequent query, so engines optimise it."""

    async def lock(self, transaction: Transaction, name: str, *, shared: bool = False) -> None:
        """Holds a lock until the transaction ends, exclusive or shared with other transactions that share it."""

    async def close(self) -> None: ...
