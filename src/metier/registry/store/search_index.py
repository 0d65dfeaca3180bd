"""The full-text index, the only part with different SQL for each engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from enum import IntEnum

from metier.values import dataclass

from .engine import SnapshotReader, Transaction

__all__ = [
    "Column",
    "SearchClause",
    "SearchStage",
    "delete_words",
    "read_words",
    "read_words_of",
    "search_clause",
    "write_words",
]

_WEIGHTS = "ABCD"
_BATCH = 500
_COLUMNS = ("name", "tags", "about", "body")


class Column(IntEnum):
    NAME = 1
    TAGS = 2
    ABOUT = 3
    BODY = 4


_FIELDS = {Column.NAME: "ts_filter(w.terms, '{a}')", Column.ABOUT: "w.front", None: "w.terms"}
"""The indexed expressions of PostgreSQL, by the columns that are searched. GIN keeps no weights, so each has an index."""


@dataclass(frozen=True, slots=True)
class SearchStage:
    """A search for packages that contain all groups."""

    groups: Sequence[Sequence[str]]
    """For each word, its possible terms."""
    prefix: str = ""
    """A prefix of the last word's terms."""
    among: Column | None = None
    """Search only this column and those before it."""


@dataclass(frozen=True, slots=True)
class SearchClause:
    """SQL over package `p` with `{where}` in the place of the conditions on the package."""

    source: str
    before: tuple[str, ...]
    """Arguments before those of the conditions."""
    after: tuple[str, ...]
    """Arguments after them."""
    order: str


_BY_NAME = "length(p.name) - length(replace(p.name, '-', '')), p.downloads desc, p.name"
"""Names with the fewest words first, as in the final ranking."""
_BY_DOWNLOADS = "p.downloads desc, p.name desc"
"""The order of an index of PostgreSQL."""


def search_clause(dialect: str, stage: SearchStage, *, broad: bool) -> SearchClause:
    """Returns the search in the order in which matches are cut off, which is the same for all engines.

    Matches with a word in the name come first, and the most downloaded first among them. For a broad search, which matches
    thousands, only downloads count, so that PostgreSQL can read packages in this order until it has enough of them.
    """
    return (_fts5 if dialect == "sqlite" else _tsquery)(stage, broad)


def _fts5(stage: SearchStage, broad: bool) -> SearchClause:
    sets = [" OR ".join(f'"{term}"' for term in group) for group in stage.groups]
    if stage.prefix:
        sets[-1] += f' OR "{stage.prefix}" *'
    query = f"{{{' '.join(_COLUMNS[: stage.among])}}} : ({' AND '.join(f'({one})' for one in sets)})"
    source = "words join package p on p.id = words.rowid where words match ? and {where}"
    if broad or stage.among is Column.NAME:
        return SearchClause(source, (query,), (), _BY_DOWNLOADS if broad else _BY_NAME)
    named = f"{{name}} : ({' OR '.join(sets)})"
    order = "p.id in (select rowid from words where words match ?) desc, p.downloads desc, p.name"
    return SearchClause(source, (query,), (named,), order)


def _tsquery(stage: SearchStage, broad: bool) -> SearchClause:
    field, in_name = _FIELDS[stage.among], stage.among is Column.NAME
    if broad:
        # The index of names cannot be read in the order of downloads; the row tells which terms are in the name.
        field = "w.front" if in_name else field
        source = f"package p join words w on w.package = p.id where {field} @@ cast(? as tsquery) and {{where}}"
        return SearchClause(source, (_joined(stage, " & ", ":A" if in_name else ""),), (), _BY_DOWNLOADS)
    query = (_joined(stage, " & "),)
    found = f"from words w where {field} @@ cast(? as tsquery)"
    if in_name:
        source = (
            f"(with found as materialized (select w.package {found}) select p.* from found f join package p on p.id = f.package"
        )
        return SearchClause(source + " where {where}) p", query, (), _BY_NAME)
    named = (_joined(stage, " | ", ":A"),)
    source = (
        f"(with found as materialized (select w.package, w.front @@ cast(? as tsquery) as is_named {found})"
        " select p.*, f.is_named from found f join package p on p.id = f.package where {where}) p"
    )
    return SearchClause(source, named + query, (), "p.is_named desc, p.downloads desc, p.name")


def _joined(stage: SearchStage, operator: str, weight: str = "") -> str:
    sets = [" | ".join(f"'{term}'{weight}" for term in group) for group in stage.groups]
    if stage.prefix:
        sets[-1] += f" | '{stage.prefix}':*{weight.removeprefix(':')}"
    return operator.join(f"({one})" for one in sets)


async def write_words(transaction: Transaction, dialect: str, package_id: int, columns: Sequence[Sequence[str]]) -> None:
    await delete_words(transaction, dialect, package_id)
    if dialect == "sqlite":
        texts = [" ".join(terms) for terms in columns]
        await transaction.rows(f"insert into words (rowid, {', '.join(_COLUMNS)}) values (?, ?, ?, ?, ?)", (package_id, *texts))
        return
    marked = [f"'{term}':{place + 1}{weight}" for weight, terms in zip(_WEIGHTS, columns, strict=True) for place, term in
              enumerate(terms)]  # fmt: skip
    await transaction.rows("insert into words (package, terms) values (?, cast(? as tsvector))", (package_id, " ".join(marked)))


async def read_words(reader: SnapshotReader, dialect: str) -> AsyncIterator[tuple[int, list[list[str]]]]:
    """Yields the terms of every package in the columns of `write_words`."""
    key, columns = _stored(dialect)
    after = 0
    while rows := await reader.rows(
        f"select {key}, {columns} from words where {key} > ? order by {key} limit {_BATCH}", (after,)
    ):
        for package_id, *texts in rows:
            yield package_id, [text.split() for text in texts]
        after = rows[-1][0]


async def read_words_of(reader: SnapshotReader, dialect: str, packages: Sequence[int]) -> AsyncIterator[list[list[str]]]:
    """Yields the terms of those packages that have any."""
    key, columns = _stored(dialect)
    for start in range(0, len(packages), _BATCH):
        some = packages[start : start + _BATCH]
        for texts in await reader.rows(f"select {columns} from words where {key} in ({', '.join('?' * len(some))})", some):
            yield [text.split() for text in texts]


def _stored(dialect: str) -> tuple[str, str]:
    """Returns the key of a row, and the columns as texts of terms."""
    if dialect == "sqlite":
        return "rowid", ", ".join(_COLUMNS)
    marked = "coalesce((select string_agg(lexeme, ' ') from unnest(terms) where '{0}' = any(weights)), '')"
    return "package", ", ".join(marked.replace("{0}", weight) for weight in _WEIGHTS)


async def delete_words(transaction: Transaction, dialect: str, package_id: int) -> None:
    column = "rowid" if dialect == "sqlite" else "package"
    await transaction.rows(f"delete from words where {column} = ?", (package_id,))
