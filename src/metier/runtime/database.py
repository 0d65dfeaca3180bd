"""Port of the stores to a database: a SQLite file, or a PostgreSQL that several machines share.

Every query is written once, with `?` for values, in the SQL that both understand.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from metier.errors import UsageError

from .sqlite_database import SqliteDatabase
from .store_schema import SqlDialect, StoreSchema

__all__ = ["Database", "SqlConnection", "is_address", "open_database"]

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


class SqlCursor(Protocol):
    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...  # Any: a row

    def fetchall(self) -> list[Any]: ...


class SqlConnection(Protocol):
    def execute(self, sql: str, arguments: Sequence[Any] = ..., /) -> SqlCursor: ...

    def executemany(self, sql: str, arguments: Sequence[Sequence[Any]], /) -> object: ...


class Database(Protocol):
    """Opened on first use. `UnavailableError` says why it cannot be used."""

    @property
    def dialect(self) -> SqlDialect: ...

    @property
    def location(self) -> str:
        """The file, or the address without user and password."""

    @property
    def damaged_copy(self) -> str | None:
        """The new path of a damaged file, if there was one."""

    def read(self) -> AbstractContextManager[SqlConnection]: ...

    def write(self, name: str) -> AbstractContextManager[SqlConnection]:
        """One transaction: committed at the end of the block, rolled back by an error.

        `name` is what is changed. Changes of one name wait for each other, from the beginning of the block on.
        """

    def try_hold(self, name: str) -> Callable[[], None] | None:
        """Keeps a name from all other callers until the returned function is called, or the process ends.

        Returns None if another caller holds it, in any process.
        """

    def close(self) -> None: ...


def open_database(location: str | os.PathLike[str], schema: StoreSchema, *, timeout: float = 5.0) -> Database:
    """Opens `postgresql://…`, or else a SQLite file."""
    text = os.fspath(location)
    address = _ADDRESS.match(text)
    if not address:
        return SqliteDatabase(text, schema, timeout=timeout)
    if address[1].lower() not in ("postgresql", "postgres"):
        raise UsageError(
            f"sessions cannot be kept in {address[0]}…", hint="use a file, or postgresql://USER@HOST/DATABASE"
        )  # fmt: skip
    # Imported here: the driver is an extra.
    from .postgres_database import PostgresDatabase

    return PostgresDatabase(text, schema, timeout=timeout)


def is_address(location: str) -> bool:
    """Returns False for the path of a file."""
    return _ADDRESS.match(location) is not None
