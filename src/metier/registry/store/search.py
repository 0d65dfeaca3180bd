"""Lists and searches. Filters apply before limits, and every order ends with the name, so that pages do not overlap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations

from metier.registry.domain.records import Package, PackageFilters, PackageStatus, PackageVisibility, Sort
from metier.values import dataclass

from .common_terms import TermShares, read_shares
from .engine import Engine
from .packages import PACKAGE_COLUMNS
from .search_index import Column, SearchStage, search_clause

__all__ = ["SearchRows", "filter_clause", "visible_clause"]

_PACKAGE_COLUMNS = ", ".join(f"p.{column}" for column in PACKAGE_COLUMNS.split(", "))
_NAMES = 60
_MAX_COMBINATIONS = 30
_ENOUGH = 60
LISTED = (PackageStatus.ACTIVE, PackageStatus.DEPRECATED, PackageStatus.ARCHIVED)


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
        self, groups: Sequence[Sequence[str]], filters: PackageFilters, *, name: str = "", prefix: str = "", need: int = 20,
        limit: int = 200,
    ) -> list[Package]:  # fmt: skip
        search = _Search(self.engine, filters, await read_shares(self.engine, groups, prefix), need)
        found = await search.named(name) if name else {}
        found |= await search.matched(SearchStage(groups, prefix, among=Column.NAME), max(_NAMES, need))
        if len(found) < need:
            found |= await search.matched(SearchStage(groups, prefix, among=Column.ABOUT), limit)
        for size in range(len(groups), 0, -1):
            if len(found) >= need or math.comb(len(groups), size) > _MAX_COMBINATIONS:
                break
            # A last word that is incomplete is looked for in bodies only if nothing else was found: it may stand for hundreds.
            for places in search.rarest_first(combinations(range(len(groups)), size)):
                if len(found) >= max(need, _ENOUGH):
                    break
                among = None if search.shares.is_rare(places) else Column.ABOUT
                ending = prefix if (among or not found) and places[-1] == len(groups) - 1 else ""
                stage = SearchStage([groups[place] for place in places], ending, among)
                found |= await search.matched(stage, limit, places)
        return list(found.values())[:limit]

    async def popular(self, kind: str, *, at_least: int, limit: int) -> list[str]:
        where, arguments = filter_clause(PackageFilters(kind=kind))
        rows = await self.engine.rows(
            f"select p.name from package p where {where} and p.downloads >= ? order by p.downloads desc, p.name limit ?",
            (*arguments, at_least, limit),
            slow=True,
        )
        return [row[0] for row in rows]


@dataclass(frozen=True, slots=True)
class _Search:
    engine: Engine
    filters: PackageFilters
    shares: TermShares
    need: int

    async def named(self, name: str) -> dict[int, Package]:
        where, arguments = filter_clause(self.filters)
        rows = await self.engine.rows(
            f"select {_PACKAGE_COLUMNS} from package p where p.name = ? and {where}", (name, *arguments)
        )
        return {row[0]: Package(*row) for row in rows}

    def rarest_first(self, combined: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Sorts combinations of words by their expected matches: common words say little."""
        return sorted(combined, key=lambda places: self.shares.matches(SearchStage(()), places))

    async def matched(self, stage: SearchStage, limit: int, places: Sequence[int] | None = None) -> dict[int, Package]:
        broad = self.shares.is_broad(stage, places)
        part = search_clause(self.engine.dialect, stage, broad=broad)
        where, arguments = filter_clause(self.filters)
        rows = await self.engine.rows(
            f"select {_PACKAGE_COLUMNS} from {part.source.replace('{where}', where)} order by {part.order} limit ?",
            (*part.before, *arguments, *part.after, min(limit, max(_NAMES, self.need)) if broad else limit),
            slow=True,
        )
        return {row[0]: Package(*row) for row in rows}


def filter_clause(filters: PackageFilters) -> tuple[str, list[object]]:
    """Returns the SQL conditions on package `p` and their arguments."""
    visible, arguments = visible_clause(filters.readable_namespaces, statuses=(filters.status,) if filters.status else LISTED)
    parts = ["p.kind = ?", "p.version <> ''", visible]
    arguments = [filters.kind, *arguments]
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


def visible_clause(readable_namespaces: Sequence[str] | None, *, statuses: Sequence[str] = LISTED) -> tuple[str, list[object]]:
    """Returns the SQL condition on package `p` that it is public or has an owner among these namespaces; None means any."""
    part, arguments = f"p.status in ({', '.join('?' * len(statuses))})", list[object](statuses)
    if readable_namespaces is None:
        return part, arguments
    marks = ", ".join("?" * len(readable_namespaces))
    owned = f" or exists (select 1 from owner o where o.package = p.id and o.namespace in ({marks}))" if marks else ""
    return f"{part} and (p.visibility = ?{owned})", [*arguments, PackageVisibility.PUBLIC, *readable_namespaces]
