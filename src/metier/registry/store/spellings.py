"""The words that correct typos. A word is offered only to callers that may read a package with it."""

from __future__ import annotations

from collections.abc import Iterable

from metier.registry.domain.records import PackageFilters
from metier.registry.domain.search_terms import forms, is_one_slip, spelling_words

from .engine import Engine
from .packages import write_spellings
from .search import filter_clause

__all__ = ["SpellingRows"]

_BATCH = 200


class SpellingRows:
    engine: Engine

    async def spellings(self, words: Iterable[str], filters: PackageFilters) -> dict[str, list[str]]:
        asked = {word: tuple(dict.fromkeys(forms(word))) for word in words}
        every = sorted({form for each in asked.values() for form in each})
        if not every:
            return {}
        marks = ", ".join("?" * len(every))
        where, arguments = filter_clause(
            PackageFilters(kind=filters.kind, readable_namespaces=filters.readable_namespaces)
        )  # fmt: skip
        rows = await self.engine.rows(
            # The limit makes PostgreSQL look for one package of each word, and not read the packages of all words.
            f"select s.form, s.word from spelling s where s.form in ({marks}) and (select 1 from package_word w"
            f" join package p on p.id = w.package where w.word = s.word and {where} limit 1) = 1",
            (*every, *arguments),
        )
        near: dict[str, set[str]] = {}
        for form, word in rows:
            near.setdefault(form, set()).add(word)
        found: dict[str, list[str]] = {}
        for word, shapes in asked.items():
            candidates = {other for shape in shapes for other in near.get(shape, ())}
            if word not in candidates:
                near_by = ((_edit_cost(word, other), other) for other in candidates if is_one_slip(word, other))
                found[word] = [other for _, other in sorted(near_by)]
        return found

    async def respell(self, *, after: int) -> int | None:
        """Writes the words of the next packages after this id. Returns the last id, or None at the end."""
        async with self.engine.transaction() as transaction:
            rows = await transaction.rows(
                "select id, name, tags, description from package where id > ? and version <> '' order by id limit ?",
                (after, _BATCH),
            )
            for package_id, name, tags, description in rows:
                await write_spellings(transaction, package_id, spelling_words(name, tags, description))
        return int(rows[-1][0]) if rows else None


def _edit_cost(word: str, other: str) -> tuple[bool, bool]:
    """Ranks corrections: replaced letters are less likely than missing or swapped ones, as is a wrong first letter."""
    return len(word) == len(other) and sorted(word) != sorted(other), other[0] != word[0]
