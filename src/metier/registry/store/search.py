"""Lists and searches. Filters apply before limits, and every order ends with the name, so that pages do not overlap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from metier.registry.domain.records import Package, PackageFilters, PackageStatus, PackageVisibility, Sort
from metier.registry.domain.search_terms import forms, is_one_slip

from .engine import Engine
from .packages import PACKAGE_COLUMNS
from .search_index import Column, SearchStage, search_clause

__all__ = ["SearchRows", "filter_clause"]

_PACKAGE_COLUMNS = ", ".join(f"p.{column}" for column in PACKAGE_COLUMNS.split(", "))
_NAMES = 60
_MAX_COMBINATIONS = 30
_BY_NAME = "length(p.name) - length(replace(p.name, '-', '')), p.downloads desc, p.name"
"""Names with the fewest words first, as in the final ranking."""
_LISTED = (PackageStatus.ACTIVE, PackageStatus.DEPRECATED, PackageStatus.ARCHIVED)


class SearchRows:
    engine: Engine

    async def browse(
        self, filters: PackageFilters, *, sort: Sort, after: tuple[int | str, str] | None, limit: int
    ) -> list[Package]:
        where, arguments = filter_clause(filters)
        if sort is Sort.NAME:
            order, bound = "p.name", " and p.name > ?"
            bounds: tuple[object, ...] = (after[1],) if after else ()
        else:
            column = "downloads" if sort is Sort.DOWNLOADS else "updated"
            order, bound = f"p.{column} desc, p.name desc", f" and (p.{column}, p.name) < (?, ?)"
            bounds = after or ()
        rows = await self.engine.rows(
            f"select {_PACKAGE_COLUMNS} from package p where {where}{bound if after else ''} order by {order} limit ?",
            (*arguments, *bounds, limit),
            slow=True,
        )
        return [Package(*row) for row in rows]

    async def recall(
        self, groups: Sequence[Sequence[str]], filters: PackageFilters, *, prefix: str = "", need: int = 20, limit: int = 200
    ) -> list[Package]:
        whole = len(groups)
        found = await self._matched(
            SearchStage(groups, whole, prefix, among=Column.NAME), filters, _BY_NAME, min(limit, _NAMES)
        )
        if len(found) < need:
            found |= await self._matched(SearchStage(groups, whole, prefix, among=Column.ABOUT), filters, "", limit)
        # Each stage requires one word less until there are enough results; matching any word would read half the index.
        for size in range(whole, 0, -1):
            if len(found) >= need or math.comb(whole, size) > _MAX_COMBINATIONS:
                break
            found |= await self._matched(SearchStage(groups, size, prefix), filters, "", limit)
        return list(found.values())[:limit]

    async def _matched(self, stage: SearchStage, filters: PackageFilters, order: str, limit: int) -> dict[int, Package]:
        part = search_clause(self.engine.dialect, stage)
        where, arguments = filter_clause(filters)
        rows = await self.engine.rows(
            f"select {_PACKAGE_COLUMNS} from {part.source} and {where} order by {order or part.order} limit ?",
            (part.query, *arguments, limit),
            slow=True,
        )
        return {row[0]: Package(*row) for row in rows}

    async def popular(self, kind: str, *, at_least: int, limit: int) -> list[str]:
        rows = await self.engine.rows(
            "select name from package where kind = ? and downloads >= ? and status <> ? order by downloads desc, name limit ?",
            (kind, at_least, PackageStatus.DELETED, limit),
            slow=True,
        )
        return [row[0] for row in rows]

    async def spellings(self, words: Iterable[str]) -> dict[str, list[str]]:
        asked = {word: tuple(dict.fromkeys(forms(word))) for word in words}
        every = sorted({form for each in asked.values() for form in each})
        if not every:
            return {}
        marks = ", ".join("?" * len(every))
        rows = await self.engine.rows(f"select form, word from spelling where form in ({marks})", every)
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


def _edit_cost(word: str, other: str) -> tuple[bool, bool]:
    """Ranks corrections: replaced letters are less likely than missing or swapped ones, as is a wrong first letter."""
    return len(word) == len(other) and sorted(word) != sorted(other), other[0] != word[0]


def filter_clause(filters: PackageFilters) -> tuple[str, list[object]]:
    """Returns the SQL conditions on package `p` and their arguments."""
    statuses = (filters.status,) if filters.status else _LISTED
    parts = ["p.kind = ?", "p.version <> ''", f"p.status in ({', '.join('?' * len(statuses))})"]
    arguments: list[object] = [filters.kind, *statuses]
    if filters.readable_namespaces is not None:
        own = f" or p.namespace in ({', '.join('?' * len(filters.readable_namespaces))})" if filters.readable_namespaces else ""
        parts.append(f"(p.visibility = ?{own})")
        arguments += [PackageVisibility.PUBLIC, *filters.readable_namespaces]
    if filters.tag:
        parts.append("exists (select 1 from keyword k where k.package = p.id and k.word = ?)")
        arguments.append(filters.tag)
    if filters.owner:
        parts.append("exists (select 1 from owner o where o.package = p.id and o.namespace = ?)")
        arguments.append(filters.owner)
    if filters.license:
        parts.append("lower(p.license) = ?")
        arguments.append(filters.license.lower())
    if filters.verdict:
        parts.append("p.verdict = ?")
        arguments.append(filters.verdict)
    return " and ".join(parts), arguments
