"""Download counts, once per identity and day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from metier.registry.domain.records import Package, PackageFilters
from metier.registry.wire import DownloadDay

from .engine import Engine
from .packages import ONLINE, PACKAGE_COLUMNS
from .search import filter_clause, visible_clause

__all__ = ["DownloadRows"]

_PACKAGE_COLUMNS = ", ".join(f"p.{column}" for column in PACKAGE_COLUMNS.split(", "))
_BATCH = 500


class DownloadRows:
    engine: Engine

    async def count(self, day: str, seen: Iterable[tuple[int, str, str]]) -> int:
        # Sorted, so that concurrent workers lock rows in the same order and cannot deadlock.
        wanted = sorted({(package_id, identity): version for package_id, version, identity in seen}.items())
        fresh: Counter[tuple[int, str]] = Counter()
        # Losing a count in a power failure is acceptable, so the write need not be durable.
        async with self.engine.transaction(durable=False) as transaction:
            for start in range(0, len(wanted), _BATCH):
                part = dict(wanted[start : start + _BATCH])
                new = await transaction.rows(
                    f"insert into download_seen (day, package, identity) values {', '.join(['(?, ?, ?)'] * len(part))}"
                    " on conflict do nothing returning package, identity",
                    [value for package_id, identity in part for value in (day, package_id, identity)],
                )
                fresh.update((package_id, part[package_id, identity]) for package_id, identity in new)
            for (package_id, version), number in sorted(fresh.items()):
                alive = await transaction.rows(
                    "update package set downloads = downloads + ? where id = ? returning id", (number, package_id)
                )
                if alive:
                    await transaction.rows(
                        "insert into download_day (package, day, version, downloads) values (?, ?, ?, ?)"
                        " on conflict (package, day, version) do update"
                        " set downloads = download_day.downloads + excluded.downloads",
                        (package_id, day, version, number),
                    )
        return sum(fresh.values())

    async def days(self, package_id: int, *, since: str) -> list[DownloadDay]:
        rows = await self.engine.rows(
            "select day, cast(sum(downloads) as bigint) from download_day where package = ? and day >= ?"
            " group by day order by day",
            (package_id, since),
        )
        return [DownloadDay(day=row[0], downloads=row[1]) for row in rows]

    async def trending(self, filters: PackageFilters, *, since: str, limit: int) -> list[tuple[Package, int]]:
        where, arguments = filter_clause(filters)
        rows = await self.engine.rows(
            f"select {_PACKAGE_COLUMNS}, d.total from package p join (select package, cast(sum(downloads) as bigint) as total"
            f" from download_day where day >= ? group by package) d on d.package = p.id"
            f" where {where} order by d.total desc, p.name limit ?",
            (since, *arguments, limit),
            slow=True,
        )
        return [(Package(*row[:-1]), row[-1]) for row in rows]

    async def totals(self, *, readable_namespaces: tuple[str, ...] | None = None) -> dict[str, int]:
        where, arguments = "p.status <> 'deleted'", list[object]()
        if readable_namespaces is not None:
            where, arguments = visible_clause(readable_namespaces)
        rows = await self.engine.rows(
            "select count(*), cast(coalesce(sum(r.releases), 0) as bigint), cast(coalesce(sum(p.downloads), 0) as bigint),"
            " cast(coalesce(sum(r.bytes), 0) as bigint) from package p join (select package, count(*) as releases,"
            f" sum(size) as bytes from release where {ONLINE} group by package) r on r.package = p.id where {where}",
            arguments,
            slow=True,
        )
        return dict(zip(("packages", "releases", "downloads", "bytes"), rows[0], strict=True))

    async def forget_identities(self, *, before: str) -> None:
        async with self.engine.transaction(durable=False) as transaction:
            await transaction.rows("delete from download_seen where day < ?", (before,))
