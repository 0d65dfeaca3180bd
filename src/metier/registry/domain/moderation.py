"""Abuse reports, quarantine and the audit log."""

from __future__ import annotations

from collections.abc import Callable

from metier.errors import NotFoundError, UsageError
from metier.registry.wire import AbuseReport

from .access import Caller
from .protocols import RegistryStore
from .queries import Queries
from .records import AuditEvent, Millis, Package, PackageFilters, PackageKind, PackageStatus, Sort

__all__ = ["REASONS", "Moderation"]

REASONS = ("malicious", "secret", "impersonation", "spam", "licence", "other")
_STATES = ("accepted", "rejected")
_MAX_SHOWN = 200


class Moderation:
    def __init__(self, store: RegistryStore, queries: Queries, clock: Callable[[], Millis]) -> None:
        self._store = store
        self._queries = queries
        self._clock = clock

    async def report(self, caller: Caller, kind: PackageKind, name: str, report: AbuseReport) -> int:
        if report.reason not in REASONS:
            raise UsageError(f"unknown reason {report.reason[:40]!r}", hint=f"use one of {', '.join(REASONS)}")
        package = await self._queries.find_package(caller, kind, name)
        full = AbuseReport(
            reason=report.reason, details=report.details[:2000], version=report.version[:128], reporter=caller.name
        )
        event = AuditEvent(self._clock(), caller.name, "report", f"{kind}:{name}", report.reason)
        return await self._store.report(full, package.id, event=event)

    async def reports(self, caller: Caller, *, state: str = "open", before: int | None = None) -> list[AbuseReport]:
        caller.require(caller.is_admin, "read reports", scope="admin")
        return await self._store.reports(state=state, before=before)

    async def resolve(self, caller: Caller, report: int, *, state: str, note: str = "") -> None:
        caller.require(caller.is_admin, "resolve reports", scope="admin")
        if state not in _STATES:
            raise UsageError(f"unknown decision {state[:40]!r}", hint=f"use one of {', '.join(_STATES)}")
        event = AuditEvent(self._clock(), caller.name, "report-resolve", f"report:{report}", f"{state} {note}"[:500])
        if not await self._store.resolve(report, state=state, note=note[:500], event=event):
            raise NotFoundError(f"no open report {report}", hint="see the list of reports")

    async def quarantine(self, caller: Caller, kind: PackageKind, name: str, *, reason: str) -> None:
        """Hides a package until a moderator has reviewed it. Its owners cannot delete or undelete it meanwhile."""
        package = await self._moderated(caller, kind, name)
        event = AuditEvent(self._clock(), caller.name, "quarantine", f"{kind}:{name}", reason[:500])
        await self._store.quarantine(package.id, reason=reason[:500], event=event)

    async def release(self, caller: Caller, kind: PackageKind, name: str) -> None:
        """Ends a quarantine. The package gets the status that it had before."""
        package = await self._moderated(caller, kind, name)
        event = AuditEvent(self._clock(), caller.name, "quarantine-end", f"{kind}:{name}")
        if not await self._store.end_quarantine(package.id, event=event):
            raise NotFoundError(f"{kind} {name[:80]!r} is not quarantined", hint="see the list of quarantined packages")

    async def quarantined(self, caller: Caller) -> list[Package]:
        caller.require(caller.is_admin, "list quarantined packages", scope="admin")
        filters = PackageFilters(status=PackageStatus.QUARANTINED, readable_namespaces=None)
        return await self._store.browse(filters, sort=Sort.UPDATED, after=None, limit=_MAX_SHOWN)

    async def _moderated(self, caller: Caller, kind: PackageKind, name: str) -> Package:
        caller.require(caller.is_admin, "change the quarantine", scope="admin")
        package = await self._store.find_package(kind, name)
        if package is None:
            raise NotFoundError(f"unknown {kind} {name[:80]!r}", hint="search for it")
        return package

    async def audit(self, caller: Caller, *, subject: str = "", before: int | None = None) -> list[tuple[int, AuditEvent]]:
        caller.require(caller.is_admin, "read the audit log", scope="admin")
        return await self._store.events(subject=subject, before=before)
