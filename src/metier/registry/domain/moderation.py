"""Abuse reports, quarantine and the audit log."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from metier.errors import ConflictError, NotFoundError, UsageError
from metier.registry.wire import AbuseReport

from .access import Caller, Right
from .protocols import RegistryStore
from .queries import Queries
from .records import (
    AuditEvent,
    Millis,
    Package,
    PackageFilters,
    PackageKind,
    PackageStatus,
    Release,
    ReleaseState,
    Sort,
)

__all__ = ["REASONS", "Moderation"]

REASONS = ("malicious", "secret", "impersonation", "spam", "licence", "other")
_STATES = ("accepted", "rejected")
_MAX_SHOWN = 200
_MOST_OPEN = (25, 200)
"""Open reports of one address without a token, and of one holder."""


class Moderation:
    def __init__(self, store: RegistryStore, queries: Queries, clock: Callable[[], Millis]) -> None:
        self._store = store
        self._queries = queries
        self._clock = clock

    async def report(self, caller: Caller, kind: PackageKind, name: str, report: AbuseReport) -> int:
        if report.reason not in REASONS:
            raise UsageError(f"unknown reason {report.reason[:40]!r}", hint=f"use one of {', '.join(REASONS)}")
        package = await self._queries.find_package(caller, kind, name)
        if report.version and await self._store.release(package.id, report.version) is None:
            raise NotFoundError(f"{name} has no version {report.version[:80]!r}", hint=f"see the versions of {name}")
        full = AbuseReport(
            reason=report.reason, details=report.details[:2000], version=report.version, reporter=caller.name
        )  # fmt: skip
        event = caller.event(self._clock(), "report", f"{kind}:{name}", f"{report.version} {report.reason}".strip())
        number = await self._store.report(full, package.id, event=event, most=_MOST_OPEN[caller.token is not None])
        if number is None:
            raise ConflictError("too many of your reports are open", hint="wait until the moderators have decided some")
        return number

    async def reports(
        self, caller: Caller, *, state: str = "open", before: int | None = None, anonymous: bool | None = None
    ) -> list[AbuseReport]:
        """Returns reports, newest first. `anonymous` selects those without or with a token."""
        caller.require(caller.is_admin, "read reports", scope="admin")
        return await self._store.reports(state=state, before=before, anonymous=anonymous)

    async def resolve(self, caller: Caller, report: int, *, state: str, note: str = "") -> None:
        """Closes a report. An accepted one quarantines its package."""
        caller.require(caller.is_admin, "resolve reports", scope="admin")
        if state not in _STATES:
            raise UsageError(f"unknown decision {state[:40]!r}", hint=f"use one of {', '.join(_STATES)}")
        found = await self._store.find_report(report)
        if found is None or found.state != "open":
            raise NotFoundError(f"no open report {report}", hint="see the list of reports")
        if state == "accepted":
            # Before the report is closed, so that a failure in between leaves it open.
            about = f"{found.reason}, version {found.version}" if found.version else found.reason
            with contextlib.suppress(NotFoundError):
                await self.quarantine(caller, PackageKind(found.kind), found.name, reason=note or f"{about} (report {report})")
        event = caller.event(self._clock(), "report-resolve", f"report:{report}", f"{state} {note}".strip())
        if not await self._store.resolve(report, state=state, note=note[:500], event=event):
            raise NotFoundError(f"no open report {report}", hint="see the list of reports")

    async def quarantine(self, caller: Caller, kind: PackageKind, name: str, *, reason: str) -> None:
        """Hides a package until a moderator has reviewed it. Its owners cannot delete or undelete it meanwhile."""
        package = await self._moderated(caller, kind, name)
        event = caller.event(self._clock(), "quarantine", f"{kind}:{name}", reason)
        await self._store.quarantine(package.id, reason=reason[:500], event=event)

    async def release(self, caller: Caller, kind: PackageKind, name: str) -> None:
        """Ends a quarantine. The package gets the status that it had before."""
        package = await self._moderated(caller, kind, name)
        event = caller.event(self._clock(), "quarantine-end", f"{kind}:{name}")
        if not await self._store.end_quarantine(package.id, event=event):
            raise NotFoundError(f"{kind} {name[:80]!r} is not quarantined", hint="see the list of quarantined packages")

    async def quarantine_version(self, caller: Caller, kind: PackageKind, name: str, version: str, *, reason: str) -> None:
        """Stops serving one version until an administrator decides. Its members and its page show the reason."""
        release = await self._moderated_version(caller, kind, name, version)
        if release.state == ReleaseState.QUARANTINED:
            raise ConflictError(f"{name} {version} is quarantined already", hint="see the list of quarantined versions")
        event = caller.event(self._clock(), "quarantine-version", f"{kind}:{name}", f"{version} {release.digest} {reason}")
        await self._change(release, ReleaseState.QUARANTINED, " ".join(reason.split())[:500], event)

    async def release_version(self, caller: Caller, kind: PackageKind, name: str, version: str) -> None:
        """Puts a quarantined version online again."""
        release = await self._moderated_version(caller, kind, name, version, quarantined=True)
        event = caller.event(self._clock(), "release-version", f"{kind}:{name}", f"{version} {release.digest}")
        await self._change(release, ReleaseState.ONLINE, "", event)

    async def remove_version(self, caller: Caller, kind: PackageKind, name: str, version: str) -> None:
        """Deletes a quarantined version. It never comes back with other contents."""
        release = await self._moderated_version(caller, kind, name, version, quarantined=True)
        event = caller.event(self._clock(), "remove-version", f"{kind}:{name}", f"{version} {release.digest}")
        if not await self._store.remove_release(release, event=event):
            raise _changed(name, version)

    async def quarantined_versions(self, caller: Caller) -> list[tuple[Package, Release]]:
        caller.require(caller.is_admin, "list quarantined versions", scope="admin")
        return await self._store.waiting((ReleaseState.QUARANTINED,), None)

    async def _moderated_version(
        self, caller: Caller, kind: PackageKind, name: str, version: str, *, quarantined: bool = False
    ) -> Release:
        package = await self._moderated(caller, kind, name)
        release = await self._store.any_release(package.id, version)
        if release is None:
            raise NotFoundError(f"{name} has no version {version[:80]!r}", hint=f"see the versions of {name}")
        if quarantined and release.state != ReleaseState.QUARANTINED:
            raise NotFoundError(f"{name} {version} is not quarantined", hint="see the list of quarantined versions")
        return release

    async def _change(self, release: Release, state: ReleaseState, reason: str, event: AuditEvent) -> None:
        if not await self._store.set_state(release, state, reason=reason, event=event):
            raise _changed(event.subject, release.version)

    async def quarantined(self, caller: Caller) -> list[Package]:
        caller.require(caller.is_admin, "list quarantined packages", scope="admin")
        filters = PackageFilters(status=PackageStatus.QUARANTINED, readable_namespaces=None)
        return await self._store.browse(filters, sort=Sort.UPDATED, after=None, limit=_MAX_SHOWN)

    async def _moderated(self, caller: Caller, kind: PackageKind, name: str) -> Package:
        caller.require(caller.may(Right.MODERATE), "change the quarantine", scope="admin")
        package = await self._store.find_package(kind, name)
        if package is None:
            raise NotFoundError(f"unknown {kind} {name[:80]!r}", hint="search for it")
        return package

    async def audit(self, caller: Caller, *, subject: str = "", before: int | None = None) -> list[tuple[int, AuditEvent]]:
        caller.require(caller.is_admin, "read the audit log", scope="admin")
        return await self._store.events(subject=subject, before=before)


def _changed(name: str, version: str) -> ConflictError:
    return ConflictError(f"{name} {version} has changed meanwhile", hint="look at it again, then decide")
