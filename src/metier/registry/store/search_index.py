"""The full-text index, the only part with different SQL for each engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from enum import IntEnum
from itertools import combinations

from metier.values import dataclass

from .engine import SnapshotReader, Transaction

__all__ = ["MOST_RANKED", "Column", "SearchClause", "SearchStage", "delete_words", "read_words", "search_clause", "write_words"]

_WEIGHTS = "ABCD"
_BATCH = 500
_COLUMNS = ("name", "tags", "about", "body")


MOST_RANKED = 600
"""Matches of one search in PostgreSQL that are ranked."""


class Column(IntEnum):
    NAME = 1
    TAGS = 2
    ABOUT = 3
    BODY = 4


_FIELDS = {
    Column.NAME: "ts_filter(w.terms, '{a}')",
    Column.ABOUT: "ts_filter(w.terms, '{a,b,c}')",
    None: "w.terms",
}
"""The indexed expressions of PostgreSQL, by the columns that are searched."""


@dataclass(frozen=True, slots=True)
class SearchStage:
    """A search for packages that contain any `size` of the groups."""

    groups: Sequence[Sequence[str]]
    """For each word, its possible terms."""
    size: int
    prefix: str = ""
    """A prefix of the last word's terms."""
    among: Column | None = None
    """Search only this column and those before it."""


@dataclass(frozen=True, slots=True)
class SearchClause:
    """SQL over package `p`, its argument, and an order by relevance."""

    source: str
    """With `{where}` in the place of the conditions on the package."""
    query: str
    order: str


def search_clause(dialect: str, stage: SearchStage) -> SearchClause:
    return _fts5(stage) if dialect == "sqlite" else _tsquery(stage)


def _fts5(stage: SearchStage) -> SearchClause:
    sets = [" OR ".join(f'"{term}"' for term in group) for group in stage.groups]
    if stage.prefix:
        sets[-1] += f' OR "{stage.prefix}" *'
    joined = " OR ".join(f"({' AND '.join(f'({one})' for one in some)})" for some in combinations(sets, stage.size))
    return SearchClause(
        # Sorting by the rank of FTS5 happens before the join, so no more rows than the limit are joined.
        "words join package p on p.id = words.rowid where words match ? and rank match 'bm25(12.0, 6.0, 4.0, 1.0)' and {where}",
        f"{{{' '.join(_COLUMNS[: stage.among])}}} : ({joined})" if stage.among else joined,
        "words.rank",
    )


def _tsquery(stage: SearchStage) -> SearchClause:
    sets = [" | ".join(f"'{term}'" for term in group) for group in stage.groups]
    if stage.prefix:
        sets[-1] += f" | '{stage.prefix}':*"
    joined = " | ".join(f"({' & '.join(f'({one})' for one in some)})" for some in combinations(sets, stage.size))
    # Ranking reads every row that matches. Of a common word's hundred thousands, only the first are read, after the filters.
    return SearchClause(
        f"(select w.terms, query, p.* from words w join package p on p.id = w.package, cast(? as tsquery) as query"
        f" where {_FIELDS[stage.among]} @@ query and {{where}} limit {MOST_RANKED}) p",
        joined,
        "-ts_rank('{0.08, 0.3, 0.5, 1.0}', p.terms, p.query), p.id",
    )


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
    if dialect == "sqlite":
        sql = f"select rowid, {', '.join(_COLUMNS)} from words where rowid > ? order by rowid limit {_BATCH}"
    else:
        marked = "coalesce((select string_agg(lexeme, ' ') from unnest(terms) where '{0}' = any(weights)), '')"
        columns = ", ".join(marked.replace("{0}", weight) for weight in _WEIGHTS)
        sql = f"select package, {columns} from words where package > ? order by package limit {_BATCH}"
    after = 0
    while rows := await reader.rows(sql, (after,)):
        for package_id, *texts in rows:
            yield package_id, [text.split() for text in texts]
        after = rows[-1][0]


async def delete_words(transaction: Transaction, dialect: str, package_id: int) -> None:
    column = "rowid" if dialect == "sqlite" else "package"
    await transaction.rows(f"delete from words where {column} = ?", (package_id,))
