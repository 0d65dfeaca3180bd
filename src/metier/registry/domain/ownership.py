"""Changes by the owners of a package: yank, tag, visibility, status, deletion, owners and transfer."""

from __future__ import annotations

import re
from collections.abc import Callable

from metier.errors import ConflictError, NotFoundError, UsageError
from metier.spec import is_name

from .access import Caller, PackageAccess, Right
from .protocols import RegistryStore
from .records import AuditEvent, Millis, Package, PackageKind, PackageStatus, PackageVisibility

__all__ = ["Ownership"]

_TAG = re.compile(r"[a-z][a-z0-9-]{0,39}")
_MAX_REASON = 500
_OWNER_STATUSES = (PackageStatus.ACTIVE, PackageStatus.ARCHIVED, PackageStatus.DEPRECATED)


class Ownership:
    def __init__(self, store: RegistryStore, clock: Callable[[], Millis]) -> None:
        self._store = store
        self._access = PackageAccess(store)
        self._clock = clock

    async def yank(self, caller: Caller, kind: PackageKind, name: str, version: str, *, reason: str) -> bool:
        """Yanks a version, so that only its exact version finds it. Returns False if it is yanked already."""
        return await self._yank(caller, kind, name, version, _reason(reason), "yank")

    async def unyank(self, caller: Caller, kind: PackageKind, name: str, version: str) -> bool:
        return await self._yank(caller, kind, name, version, None, "unyank")

    async def _yank(self, caller: Caller, kind: PackageKind, name: str, version: str, reason: str | None, action: str) -> bool:
        package, _ = await self._access.allowed(caller, Right.YANK, kind, name, f"{action} versions of")
        if await self._store.release(package.id, version) is None:
            raise NotFoundError(f"{name} has no version {version[:80]!r}", hint=f"see the versions of {name}")
        event = self._event(caller, action, package, version=version, details=reason or "")
        return await self._store.yank(package.id, version, reason=reason, event=event)

    async def rescan(self, caller: Caller, kind: PackageKind, name: str, version: str) -> None:
        """Queues a new scan of a version with the current rules."""
        package = await self._owned(caller, kind, name, "rescan")
        if await self._store.release(package.id, version) is None:
            raise NotFoundError(f"{name} has no version {version[:80]!r}", hint=f"see the versions of {name}")
        await self._store.enqueue("scan", f"{kind}:{name}@{version}", due=self._clock())
        await self._store.add_event(self._event(caller, "rescan", package, version=version))

    async def delete(self, caller: Caller, kind: PackageKind, name: str, *, reason: str = "") -> Package:
        package = await self._owned(caller, kind, name, "delete")
        event = self._event(caller, "delete", package, details=reason)
        await self._store.set_status(package.id, PackageStatus.DELETED, reason=_reason(reason), event=event)
        return package

    async def undelete(self, caller: Caller, kind: PackageKind, name: str) -> Package:
        package = await self._access.deleted(caller, kind, name)
        await self._store.set_status(
            package.id, PackageStatus.ACTIVE, reason="", event=self._event(caller, "undelete", package)
        )
        return package

    async def set_status(self, caller: Caller, kind: PackageKind, name: str, status: str, *, reason: str = "") -> None:
        """Sets the status to active, archived or deprecated. Only moderators quarantine."""
        if status not in _OWNER_STATUSES:
            raise UsageError(f"invalid status {status[:40]!r}", hint=f"use one of {', '.join(_OWNER_STATUSES)}")
        package = await self._owned(caller, kind, name, "change the status of")
        event = self._event(caller, "status", package, details=status)
        await self._store.set_status(package.id, status, reason=_reason(reason), event=event)

    async def set_visibility(self, caller: Caller, kind: PackageKind, name: str, visibility: str) -> None:
        if visibility not in tuple(PackageVisibility):
            raise UsageError(f"invalid visibility {visibility[:40]!r}", hint="use private or public")
        package = await self._owned(caller, kind, name, "change the visibility of")
        await self._store.set_visibility(
            package.id, visibility, event=self._event(caller, "visibility", package, details=visibility)
        )

    async def set_tag(self, caller: Caller, kind: PackageKind, name: str, tag: str, version: str | None) -> None:
        """Sets a tag to a version; None removes the tag."""
        if not _TAG.fullmatch(tag) or tag == "latest":
            raise UsageError(
                f"invalid tag {tag[:80]!r}", hint="use lowercase letters, digits and hyphens; latest is set automatically"
            )
        package = await self._owned(caller, kind, name, "tag versions of")
        if version is not None and await self._store.release(package.id, version) is None:
            raise NotFoundError(f"{name} has no version {version[:80]!r}", hint=f"see the versions of {name}")
        event = self._event(caller, "tag", package, details=f"{tag} {version or '-'}")
        await self._store.set_tag(package.id, tag, version, event=event)

    async def set_owner(
        self, caller: Caller, kind: PackageKind, name: str, namespace: str, *, present: bool
    ) -> tuple[str, ...]:
        package = await self._owned(caller, kind, name, "change the owners of")
        if present and not is_name(namespace):
            raise UsageError(f"invalid namespace {namespace[:80]!r}", hint="use a-z, 0-9 and single hyphens")
        event = self._event(caller, "owner-add" if present else "owner-remove", package, details=namespace)
        await self._store.set_owner(package.id, namespace, present=present, event=event)
        return await self._store.owners(package.id)

    async def offer(self, caller: Caller, kind: PackageKind, name: str, namespace: str) -> None:
        """Offers the package to another namespace. Nothing changes until that namespace accepts."""
        package = await self._owned(caller, kind, name, "transfer")
        if not is_name(namespace) or namespace == package.namespace:
            raise ConflictError(f"{name} cannot be offered to {namespace[:80]!r}", hint="use another namespace")
        await self._store.offer(package.id, namespace, event=self._event(caller, "transfer-offer", package, details=namespace))

    async def accept(self, caller: Caller, kind: PackageKind, name: str) -> str:
        package = await self._store.find_package(kind, name)
        to = await self._store.offered_to(package.id) if package and package.status != PackageStatus.DELETED else None
        if package is None or to is None or not caller.may(Right.MANAGE, to):
            raise NotFoundError(f"{kind} {name[:80]!r} was not offered to you", hint="ask its owner to offer it")
        await self._store.transfer(package.id, to, event=self._event(caller, "transfer-accept", package, details=to))
        return to

    async def _owned(self, caller: Caller, kind: PackageKind, name: str, action: str) -> Package:
        package, _ = await self._access.allowed(caller, Right.MANAGE, kind, name, action)
        return package

    def _event(self, caller: Caller, action: str, package: Package, *, version: str = "", details: str = "") -> AuditEvent:
        return caller.event(self._clock(), action, f"{package.kind}:{package.name}", f"{version} {details}".strip())


def _reason(text: str) -> str:
    return " ".join(text.split())[:_MAX_REASON]
