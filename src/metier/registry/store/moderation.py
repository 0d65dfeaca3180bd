"""Changes by owners and moderators. Each change and its audit log entry are one transaction."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from metier.errors import ConflictError, NotFoundError
from metier.registry.domain.records import AuditEvent, Millis, PackageStatus, Signature, iso
from metier.registry.wire import AbuseReport

from .engine import Engine, Row, Transaction
from .packages import ONLINE, add_event, bury_package, hold_package, refresh_package, reindex, show_newest
from .search_index import delete_words

__all__ = ["ModerationRows", "write_signature"]

_REPORT = (
    "r.id, p.kind, p.name, r.version, r.reporter, r.reason, r.details, r.state, r.created, r.note, r.address"
    " from report r join package p on p.id = r.package"
)


class ModerationRows:
    engine: Engine

    async def yank(self, package_id: int, version: str, *, reason: str | None, event: AuditEvent) -> bool:
        async with self._changing(package_id) as transaction:
            changed = await transaction.rows(
                "update release set yanked = ?, yank_reason = ? where package = ? and version = ?"
                f" and {ONLINE} and yanked is {'not null' if reason is None else 'null'} returning id",
                (None if reason is None else event.at, reason or "", package_id, version),
            )
            if not changed:
                return False
            await show_newest(transaction, self.engine.dialect, package_id, at=event.at)
            await add_event(transaction, event)
        return True

    async def set_status(self, package_id: int, status: str, *, reason: str, event: AuditEvent) -> None:
        removed = event.at if status == PackageStatus.DELETED else None
        async with self._changing(package_id) as transaction:
            quarantined = await transaction.rows(
                "update quarantine set status = ?, reason = ? where package = ? returning package", (status, reason, package_id)
            )
            if quarantined:
                await transaction.rows(
                    "update package set removed = ?, updated = ? where id = ?", (removed, event.at, package_id)
                )
            else:
                await transaction.rows(
                    "update package set status = ?, reason = ?, removed = ?, updated = ? where id = ?",
                    (status, reason, removed, event.at, package_id),
                )
            await add_event(transaction, event)

    async def quarantine(self, package_id: int, *, reason: str, event: AuditEvent) -> None:
        async with self._changing(package_id) as transaction:
            await transaction.rows(
                "insert into quarantine (package, status, reason) select id, status, reason from package where id = ?"
                " on conflict (package) do nothing",
                (package_id,),
            )
            await transaction.rows(
                "update package set status = ?, reason = ?, updated = ? where id = ?",
                (PackageStatus.QUARANTINED, reason, event.at, package_id),
            )
            await add_event(transaction, event)

    async def end_quarantine(self, package_id: int, *, event: AuditEvent) -> bool:
        async with self._changing(package_id) as transaction:
            rows = await transaction.rows("delete from quarantine where package = ? returning status, reason", (package_id,))
            if not rows:
                return False
            await transaction.rows(
                "update package set status = ?, reason = ?, updated = ? where id = ?", (*rows[0], event.at, package_id)
            )
            await add_event(transaction, event)
        return True

    async def set_visibility(self, package_id: int, visibility: str, *, event: AuditEvent) -> None:
        async with self.engine.transaction() as transaction:
            await transaction.rows(
                "update package set visibility = ?, updated = ? where id = ?", (visibility, event.at, package_id)
            )
            await add_event(transaction, event)

    async def set_tag(self, package_id: int, tag: str, version: str | None, *, event: AuditEvent) -> None:
        async with self._changing(package_id) as transaction:
            await transaction.rows("delete from tag where package = ? and tag = ?", (package_id, tag))
            if version is not None:
                await transaction.rows("insert into tag (package, tag, version) values (?, ?, ?)", (package_id, tag, version))
            await add_event(transaction, event)

    async def set_owner(self, package_id: int, namespace: str, *, present: bool, event: AuditEvent) -> None:
        async with self._changing(package_id) as transaction:
            rows = await transaction.rows(
                "select namespace, place from owner where package = ? order by place, namespace", (package_id,)
            )
            names = [row[0] for row in rows]
            if present and namespace not in names:
                await transaction.rows(
                    "insert into owner (package, namespace, place) values (?, ?, ?)", (package_id, namespace, rows[-1][1] + 1)
                )
            elif not present and names == [namespace]:
                raise ConflictError("a package needs at least one owner", hint="transfer or delete it instead")
            elif not present:
                await transaction.rows("delete from owner where package = ? and namespace = ?", (package_id, namespace))
                first = next(name for name in names if name != namespace)
                await transaction.rows("update package set namespace = ? where id = ?", (first, package_id))
            await add_event(transaction, event)

    async def offer(self, package_id: int, namespace: str, *, event: AuditEvent) -> None:
        async with self.engine.transaction() as transaction:
            await transaction.rows(
                "insert into offer (package, namespace, at) values (?, ?, ?)"
                " on conflict (package) do update set namespace = excluded.namespace, at = excluded.at",
                (package_id, namespace, event.at),
            )
            await add_event(transaction, event)

    async def offered_to(self, package_id: int) -> str | None:
        rows = await self.engine.rows("select namespace from offer where package = ?", (package_id,))
        return rows[0][0] if rows else None

    async def transfer(self, package_id: int, namespace: str, *, event: AuditEvent) -> None:
        async with self._changing(package_id) as transaction:
            gone = await transaction.rows(
                "delete from offer where package = ? and namespace = ? returning package", (package_id, namespace)
            )
            if not gone:
                raise NotFoundError(f"the package was not offered to {namespace!r}", hint="ask its owner to offer it")
            await transaction.rows("delete from owner where package = ?", (package_id,))
            await transaction.rows("insert into owner (package, namespace, place) values (?, ?, 0)", (package_id, namespace))
            await transaction.rows(
                "update package set namespace = ?, updated = ? where id = ?", (namespace, event.at, package_id)
            )
            await add_event(transaction, event)

    async def report(self, report: AbuseReport, package_id: int, *, event: AuditEvent, most: int | None = None) -> int | None:
        # The reporter of a report without a token is its address.
        address = "" if event.token else event.address
        async with self.engine.transaction() as transaction:
            await self.engine.lock(transaction, f"metier-report:{report.reporter}:{address}")
            mine = await transaction.rows(
                "select id, package, version, reason from report where reporter = ? and address = ? and state = 'open'",
                (report.reporter, address),
            )
            for number, *same in mine:
                if same == [package_id, report.version, report.reason]:
                    return int(number)
            if most is not None and len(mine) >= most:
                return None
            rows = await transaction.rows(
                "insert into report (package, version, reporter, reason, details, state, created, address)"
                " values (?, ?, ?, ?, ?, 'open', ?, ?) returning id",
                (package_id, report.version, report.reporter, report.reason, report.details, event.at, address),
            )
            await add_event(transaction, event)
        return int(rows[0][0])

    async def reports(
        self, *, state: str = "open", before: int | None = None, limit: int = 50, anonymous: bool | None = None
    ) -> list[AbuseReport]:
        named = "" if anonymous is None else f" and r.reporter {'=' if anonymous else '<>'} 'anonymous'"
        rows = await self.engine.rows(
            f"select {_REPORT} where r.state = ? and r.id < ?{named} order by r.id desc limit ?",
            (state, before or 1 << 62, limit),
        )
        return [_report(row) for row in rows]

    async def find_report(self, report: int) -> AbuseReport | None:
        rows = await self.engine.rows(f"select {_REPORT} where r.id = ?", (report,))
        return _report(rows[0]) if rows else None

    async def resolve(self, report: int, *, state: str, note: str, event: AuditEvent) -> bool:
        async with self.engine.transaction() as transaction:
            rows = await transaction.rows(
                "update report set state = ?, note = ? where id = ? and state = 'open' returning id", (state, note, report)
            )
            if rows:
                await add_event(transaction, event)
        return bool(rows)

    async def set_scan(self, release: int, *, verdict: str, findings: str, event: AuditEvent) -> None:
        package_id = await self._package_of(release)
        if package_id is None:
            return
        async with self._changing(package_id) as transaction:
            rows = await transaction.rows(
                "update release set verdict = ?, findings = ? where id = ? returning id", (verdict, findings, release)
            )
            if rows:
                await refresh_package(transaction, package_id, at=event.at)
                await add_event(transaction, event)

    async def sign(self, release: int, signature: Signature, *, event: AuditEvent) -> None:
        package_id = await self._package_of(release)
        if package_id is None:
            raise NotFoundError("this release was deleted", hint="see the versions of the package")
        async with self._changing(package_id) as transaction:
            await write_signature(transaction, package_id, release, signature, event=event)

    async def purge(self, *, before: Millis, at: Millis) -> list[str]:
        async with self.engine.transaction() as transaction:
            rows = await transaction.rows(
                "select id, kind, name from package where status = ? and removed < ?", (PackageStatus.DELETED, before)
            )
            for package_id, kind, name in rows:
                await bury_package(transaction, package_id, kind, name)
                await delete_words(transaction, self.engine.dialect, package_id)
                await transaction.rows("delete from package where id = ?", (package_id,))
                await add_event(transaction, AuditEvent(at, "registry", "purge", f"{kind}:{name}"))
        return [row[2] for row in rows]

    @contextlib.asynccontextmanager
    async def _changing(self, package_id: int) -> AsyncIterator[Transaction]:
        """A transaction that changes one package, after every other one that does."""
        async with self.engine.transaction() as transaction:
            await hold_package(transaction, self.engine.dialect, package_id)
            yield transaction

    async def _package_of(self, release: int) -> int | None:
        rows = await self.engine.rows("select package from release where id = ?", (release,))
        return rows[0][0] if rows else None

    async def index_body(self, package_id: int, version: str, body: str) -> None:
        """Indexes a body, if its release is still current."""
        async with self.engine.transaction() as transaction:
            rows = await transaction.rows("select 1 from package where id = ? and version = ?", (package_id, version))
            if rows:
                await reindex(transaction, self.engine.dialect, package_id, body)


def _report(row: Row) -> AbuseReport:
    return AbuseReport(
        id=row[0], kind=row[1], name=row[2], version=row[3], reporter=row[4], reason=row[5], details=row[6], state=row[7],
        created=iso(row[8]) or "", note=row[9], address=row[10],
    )  # fmt: skip


async def write_signature(
    transaction: Transaction, package_id: int, release: int, signature: Signature, *, event: AuditEvent
) -> None:
    await transaction.rows(
        "insert into signature (release, kind, signer, keyid, payload, created) values (?, ?, ?, ?, ?, ?)"
        " on conflict (release, kind, keyid) do update set payload = excluded.payload, signer = excluded.signer",
        (release, signature.kind, signature.signer, signature.keyid, signature.payload, signature.created),
    )
    rows = await transaction.rows(
        f"update release set signed = ? where id = ? returning case when {ONLINE} then 1 else 0 end",
        (signature.signer, release),
    )
    if rows and rows[0][0]:
        await refresh_package(transaction, package_id, at=event.at)
    await add_event(transaction, event)
