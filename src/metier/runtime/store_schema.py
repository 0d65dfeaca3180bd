"""The tables of a store, in numbered versions, for SQLite and PostgreSQL alike."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from metier.values import dataclass

__all__ = ["SqlDialect", "StoreSchema"]


class SqlDialect(StrEnum):
    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"


_WORDS = {
    # Sorted by bytes in both, whatever the language of the database.
    SqlDialect.SQLITE: {"{text}": "text", "{bytes}": "blob", "{clustered}": "without rowid"},
    SqlDialect.POSTGRESQL: {"{text}": 'text collate "C"', "{bytes}": "bytea", "{clustered}": ""},
}


@dataclass(frozen=True, slots=True)
class StoreSchema:
    """Never edit a version that was released: add one."""

    part: str
    """The name of the store. Several may share a PostgreSQL database, each with its own version."""
    versions: tuple[str, ...]
    """The statements that lead to version 1, 2, and so on. One that begins with `sqlite:` or `postgresql:` is for it alone."""

    @property
    def version(self) -> int:
        return len(self.versions)

    def statements(self, dialect: SqlDialect, *, after: int) -> Iterator[str]:
        """Yields the statements that a database of version `after` lacks."""
        for text in self.versions[after:]:
            for statement in text.split(";"):
                if statement.strip():
                    yield from _in_dialect(statement.strip(), dialect)


def _in_dialect(statement: str, dialect: SqlDialect) -> Iterator[str]:
    for each in SqlDialect:
        marked = statement.removeprefix(f"{each}:")
        if marked != statement and each is not dialect:
            return
        statement = marked
    for word, replacement in _WORDS[dialect].items():
        statement = statement.replace(word, replacement)
    yield statement.strip()
