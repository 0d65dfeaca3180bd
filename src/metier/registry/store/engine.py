"""The little that SQLite and PostgreSQL must do alike for one SQL text to run on both.

Placeholders are `?`. A read is one statement and sees what was committed before it. A write is a transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

__all__ = ["Engine", "Row", "SnapshotReader", "Transaction"]

Row = tuple[Any, ...]  # Any: what the columns of a statement are, only the statement knows


class SnapshotReader(Protocol):
    """Everything as it was at one moment."""

    text_order: str
    """What a text column needs behind its name to be sorted by bytes."""

    async def rows(self, sql: str, arguments: Sequence[object] = ()) -> list[Row]: ...


class Transaction(Protocol):
    """Inside one transaction."""

    async def rows(self, sql: str, arguments: Sequence[object] = ()) -> list[Row]: ...

    async def many(self, sql: str, arguments: Iterable[Sequence[object]]) -> None: ...


class Engine(Protocol):
    dialect: str

    async def rows(self, sql: str, arguments: Sequence[object] = (), *, slow: bool = False) -> list[Row]:
        """A slow one reads more than a few rows, and must keep nobody else waiting."""

    def writing(self, *, durable: bool = True) -> AbstractAsyncContextManager[Transaction]:
        """Committed when the block ends, rolled back when it raises. What is not durable may be lost with the power."""

    def snapshot(self) -> AbstractAsyncContextManager[SnapshotReader]: ...

    async def counted(self, work: Transaction, table: str) -> None:
        """Rows came with their own numbers: let the next number be a new one."""

    async def find_package(self, columns: str, kind: str, name: str) -> Row | None:
        """One row of `package`: what is asked more often than everything else together, so an engine may be clever here."""

    async def lock(self, work: Transaction, name: str) -> None:
        """Nobody else holds this name until the transaction ends."""

    async def close(self) -> None: ...
