"""Releases that are not online: drafts, reviews and quarantined versions. Only this module reads them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence

from metier.registry.domain.records import AuditEvent, Millis, Package, PackageStatus, Release, ReleaseState
from metier.spec import Version

from .engine import Engine, Transaction
from .packages import (
    ONLINE,
    PACKAGE_COLUMNS,
    RELEASE_COLUMNS,
    add_event,
    enqueue_cooldown,
    hold_package,
    refresh_package,
    reindex,
    show_newest,
)

__all__ = ["ReviewRows"]

_PACKAGE = ", ".join(f"p.{column}" for column in PACKAGE_COLUMNS.split(", "))
_RELEASE = ", ".join(f"r.{column}" for column in RELEASE_COLUMNS.split(", "))
_WIDTH = len(Package.__struct_fields__)


class ReviewRows:
    engine: Engine

    async def any_release(self, package_id: int, version: str) -> Release | None:
        rows = await self.engine.rows(
            f"select {RELEASE_COLUMNS} from release where package = ? and version = ?", (package_id, version)
        )
        return Release(*rows[0]) if rows else None

    async def waiting(
        self, states: Sequence[str], namespaces: Sequence[str] | None, *, before: int | None = None, limit: int = 100
    ) -> list[tuple[Package, Release]]:
        marks = ", ".join("?" * len(states))
        owned, arguments = "", list[object](states)
        if namespaces is not None:
            names = ", ".join("?" * len(namespaces)) or "null"
            owned = f" and exists (select 1 from owner o where o.package = p.id and o.namespace in ({names}))"
            arguments += namespaces
        rows = await self.engine.rows(
            f"select {_PACKAGE}, {_RELEASE} from release r join package p on p.id = r.package"
            f" where not r.{ONLINE} and r.state in ({marks}){owned} and p.status <> ? and r.id < ? order by r.id desc limit ?",
            (*arguments, PackageStatus.DELETED, before or 1 << 62, limit),
            slow=True,
        )
        return [(Package(*row[:_WIDTH]), Release(*row[_WIDTH:])) for row in rows]

    async def set_state(self, release: Release, state: str, *, reason: str, event: AuditEvent, cooldown: Millis = 0) -> bool:
        comes_online = state == ReleaseState.ONLINE
        online = event.at if comes_online and release.online is None else release.online
        available = event.at + cooldown if comes_online and cooldown and release.online is None else release.available
        async with self._changing(release.package) as transaction:
            changed = await transaction.rows(
                "update release set state = ?, state_reason = ?, online = ?, available = ?"
                " where id = ? and state = ? and digest = ? returning id",
                (state, reason, online, available, release.id, release.state, release.digest),
            )
            if not changed:
                return False
            if available > event.at:
                await enqueue_cooldown(transaction, event.subject, release.version, due=available)
            if ReleaseState.ONLINE in (state, release.state):
                await show_newest(transaction, self.engine.dialect, release.package, at=event.at)
            await add_event(transaction, event)
        return True

    async def remove_release(self, release: Release, *, event: AuditEvent) -> bool:
        async with self._changing(release.package) as transaction:
            gone = await transaction.rows(
                "delete from release where id = ? and state = ? and digest = ? returning online",
                (release.id, release.state, release.digest),
            )
            if not gone:
                return False
            if gone[0][0] is not None:
                await transaction.rows(
                    "insert into tombstone (kind, name, version, digest, owners) select p.kind, p.name, ?, ?, ''"
                    " from package p where p.id = ? on conflict (kind, name, version) do nothing",
                    (release.version, release.digest, release.package),
                )
                await show_newest(transaction, self.engine.dialect, release.package, at=event.at)
            await transaction.rows(
                "delete from package where id = ? and hidden = 1"
                " and not exists (select 1 from release r where r.package = package.id)",
                (release.package,),
            )
            await add_event(transaction, event)
        return True

    async def expired(self, *, drafts_before: Millis, yanked_before: Millis) -> list[tuple[Package, Release]]:
        rows = await self.engine.rows(
            f"select {_PACKAGE}, {_RELEASE} from release r join package p on p.id = r.package"
            " where (r.state = ? and r.published < ?) or (r.state = ? and r.yanked < ?) order by r.id",
            (ReleaseState.DRAFT, drafts_before, ReleaseState.ONLINE, yanked_before),
            slow=True,
        )
        found = [(Package(*row[:_WIDTH]), Release(*row[_WIDTH:])) for row in rows]
        return [pair for pair in found if pair[1].state == ReleaseState.DRAFT or Version.parse(pair[1].version).pre]

    async def release_page(self, *, after: int, limit: int) -> list[tuple[Package, Release]]:
        rows = await self.engine.rows(
            f"select {_PACKAGE}, {_RELEASE} from release r join package p on p.id = r.package"
            " where r.id > ? order by r.id limit ?",
            (after, limit),
        )
        return [(Package(*row[:_WIDTH]), Release(*row[_WIDTH:])) for row in rows]

    async def end_cooldown(self, package_id: int, *, at: Millis) -> None:
        async with self._changing(package_id) as transaction:
            await transaction.rows("update release set available = 0 where package = ? and available <= ?", (package_id, at))
            if await refresh_package(transaction, package_id, at=at):
                await reindex(transaction, self.engine.dialect, package_id)

    async def demands_review(self, namespaces: Sequence[str]) -> bool:
        marks = ", ".join("?" * len(namespaces))
        return bool(
            await self.engine.rows(
                f"select 1 from namespace_setting where namespace in ({marks}) and review = 1 limit 1", namespaces
            )
        )

    async def set_demands_review(self, namespace: str, *, demanded: bool, event: AuditEvent) -> bool:
        async with self.engine.transaction() as transaction:
            changed = await transaction.rows(
                "insert into namespace_setting (namespace, review) values (?, ?) on conflict (namespace) do update"
                " set review = excluded.review where namespace_setting.review <> excluded.review returning namespace",
                (namespace, int(demanded)),
            )
            if changed:
                await add_event(transaction, event)
        return bool(changed)

    @contextlib.asynccontextmanager
    async def _changing(self, package_id: int) -> AsyncIterator[Transaction]:
        async with self.engine.transaction() as transaction:
            await hold_package(transaction, self.engine.dialect, package_id)
            yield transaction
