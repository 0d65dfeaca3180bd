"""The index of words: the one thing that the two engines do not do by the same SQL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from .engine import Reader, Work

__all__ = ["Matching", "forget_words", "matching", "read_words", "write_words"]

_WEIGHTS = "ABCD"
_BATCH = 500
_COLUMNS = ("name", "tags", "about", "body")


class Matching:
    """A piece of SQL: `from` and `where` over package `p`, an order by likeness, and the arguments of each."""

    __slots__ = ("likeness", "query", "source")

    def __init__(self, source: str, query: str, likeness: str) -> None:
        self.source = source
        self.query = query
        self.likeness = likeness


def matching(dialect: str, groups: Sequence[Sequence[str]], *, prefix: str, every: bool, names: bool) -> Matching:
    """Packages in which one term of every group occurs (or of any), in the name alone or anywhere."""
    if dialect == "sqlite":
        sets = [" OR ".join(f'"{term}"' for term in group) for group in groups]
        if prefix:
            sets[-1] += f' OR "{prefix}" *'
        joined = (" AND " if every else " OR ").join(f"({one})" for one in sets)
        return Matching(
            "words join package p on p.id = words.rowid where words match ?",
            f"{{name}} : ({joined})" if names else joined,
            "bm25(words, 12.0, 6.0, 4.0, 1.0)",
        )
    mark = ":A" if names else ""
    sets = [" | ".join(f"'{term}'{mark}" for term in group) for group in groups]
    if prefix:
        sets[-1] += f" | '{prefix}':*{mark[1:]}"
    joined = (" & " if every else " | ").join(f"({one})" for one in sets)
    return Matching(
        "words w join package p on p.id = w.package, cast(? as tsquery) as query where w.terms @@ query",
        joined,
        "-ts_rank('{0.08, 0.3, 0.5, 1.0}', w.terms, query)",
    )


async def write_words(work: Work, dialect: str, package: int, columns: Sequence[Sequence[str]]) -> None:
    await forget_words(work, dialect, package)
    if dialect == "sqlite":
        texts = [" ".join(terms) for terms in columns]
        await work.rows(f"insert into words (rowid, {', '.join(_COLUMNS)}) values (?, ?, ?, ?, ?)", (package, *texts))
        return
    marked = [f"'{term}':{place + 1}{weight}" for weight, terms in zip(_WEIGHTS, columns, strict=True) for place, term in
              enumerate(terms)]  # fmt: skip
    await work.rows("insert into words (package, terms) values (?, cast(? as tsvector))", (package, " ".join(marked)))


async def read_words(reader: Reader, dialect: str) -> AsyncIterator[tuple[int, list[list[str]]]]:
    """The terms of every package, in the columns that `write_words` takes."""
    if dialect == "sqlite":
        sql = f"select rowid, {', '.join(_COLUMNS)} from words where rowid > ? order by rowid limit {_BATCH}"
    else:
        marked = "coalesce((select string_agg(lexeme, ' ') from unnest(terms) where '{0}' = any(weights)), '')"
        columns = ", ".join(marked.replace("{0}", weight) for weight in _WEIGHTS)
        sql = f"select package, {columns} from words where package > ? order by package limit {_BATCH}"
    after = 0
    while rows := await reader.rows(sql, (after,)):
        for package, *texts in rows:
            yield package, [text.split() for text in texts]
        after = rows[-1][0]


async def forget_words(work: Work, dialect: str, package: int) -> None:
    column = "rowid" if dialect == "sqlite" else "package"
    await work.rows(f"delete from words where {column} = ?", (package,))
