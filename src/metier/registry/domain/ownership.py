"""What owners do with what they published: yank, tag, show, delete, share and hand on."""

from __future__ import annotations

import re
from collections.abc import Callable

from metier.errors import ConflictError, NotFoundError, UsageError
from metier.spec import is_name

from .access import Caller
from .protocols import RegistryStore
from .records import AuditEvent, Millis, Package, PackageKind, PackageStatus, PackageVisibility

__all__ = ["Ownership"]

_TAG = re.compile(r"[a-z][a-z0-9-]{0,39}")
_LONGEST_REASON = 500
_CHOSEN_BY_OWNERS = (PackageStatus.ACTIVE, PackageStatus.ARCHIVED, PackageStatus.DEPRECATED)


class Ownership:
    def __init__(self, store: RegistryStore, clock: Callable[[], Millis]) -> None:
        self._store = store
        self._clock = clock

    async def yank(self, caller: Caller, kind: PackageKind, name: str, version: str, *, reason: str) -> bool:
        """Hide a version from everybody who does not name it exactly. False if it was yanked already."""
        return await self._yank(caller, kind, name, version, _reason(reason), "yank")

    async def unyank(self, caller: Caller, kind: PackageKind, name: str, version: str) -> bool:
        return await self._yank(caller, kind, name, version, None, "unyank")

    async def _yank(self, caller: Caller, kind: PackageKind, name: str, version: str, reason: str | None, action: str) -> bool:
        package, owners = await self._found(caller, kind, name)
        caller.require(caller.may_yank(owners), f"{action} versions of {name}", scope="yank")
        if await self._store.release(package.id, version) is None:
            raise NotFoundError(f"{name} has no version {version[:80]!r}", hint=f"see the versions of {name}")
        event = self._event(caller, action, package, version=version, details=reason or "")
        return await self._store.yank(package.id, version, reason=reason, event=event)

    async def rescan(self, caller: Caller, kind: PackageKind, name: str, version: str) -> None:
        """Have a version judged again, by the rules of today."""
        package, owners = await self._found(caller, kind, name)
        caller.require(caller.owns(owners), f"have {name} scanned", scope=f"publish:{package.namespace}")
        if await self._store.release(package.id, version) is None:
            raise NotFoundError(f"{name} has no version {version[:80]!r}", hint=f"see the versions of {name}")
        await self._store.enqueue("scan", f"{kind}:{name}@{version}", due=self._clock())
        await self._store.note(self._event(caller, "rescan", package, version=version))

    async def delete(self, caller: Caller, kind: PackageKind, name: str, *, reason: str = "") -> Package:
        package = await self._owned(caller, kind, name, "delete")
        event = self._event(caller, "delete", package, details=reason)
        await self._store.set_status(package.id, PackageStatus.DELETED, reason=_reason(reason), event=event)
        return package

    async def undelete(self, caller: Caller, kind: PackageKind, name: str) -> Package:
        package = await self._store.find_package(kind, name)
        if package is None or package.status != PackageStatus.DELETED or not caller.owns(await self._store.owners(package.id)):
            raise NotFoundError(
                f"no {kind} named {name[:80]!r} was deleted", hint="after its time it is gone, and the name is free"
            )
        caller.require(True, "undelete", scope=f"publish:{package.namespace}")
        await self._store.set_status(
            package.id, PackageStatus.ACTIVE, reason="", event=self._event(caller, "undelete", package)
        )
        return package

    async def set_status(self, caller: Caller, kind: PackageKind, name: str, status: str, *, reason: str = "") -> None:
        """Active, archived or deprecated. Quarantine is for moderators."""
        if status not in _CHOSEN_BY_OWNERS:
            raise UsageError(
                f"{status[:40]!r} is no status that owners set", hint=f"choose from {', '.join(_CHOSEN_BY_OWNERS)}"
            )
        package = await self._owned(caller, kind, name, "change the status of")
        event = self._event(caller, "status", package, details=status)
        await self._store.set_status(package.id, status, reason=_reason(reason), event=event)

    async def set_visibility(self, caller: Caller, kind: PackageKind, name: str, visibility: str) -> None:
        if visibility not in tuple(PackageVisibility):
            raise UsageError(f"{visibility[:40]!r} is no visibility", hint="choose private or public")
        package = await self._owned(caller, kind, name, "show or hide")
        await self._store.set_visibility(
            package.id, visibility, event=self._event(caller, "visibility", package, details=visibility)
        )

    async def set_tag(self, caller: Caller, kind: PackageKind, name: str, tag: str, version: str | None) -> None:
        """Let a tag point to a version, or to none."""
        if not _TAG.fullmatch(tag) or tag == "latest":
            raise UsageError(
                f"{tag[:80]!r} is no tag", hint="use lowercase letters, digits and hyphens; latest moves by itself"
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
            raise UsageError(f"{namespace[:80]!r} is no namespace", hint="use a-z, 0-9 and single hyphens")
        event = self._event(caller, "owner-add" if present else "owner-remove", package, details=namespace)
        await self._store.set_owner(package.id, namespace, present=present, event=event)
        return await self._store.owners(package.id)

    async def offer(self, caller: Caller, kind: PackageKind, name: str, namespace: str) -> None:
        """Offer it to another namespace; nothing changes until that accepts."""
        package = await self._owned(caller, kind, name, "hand on")
        if not is_name(namespace) or namespace == package.namespace:
            raise ConflictError(f"{name} cannot be offered to {namespace[:80]!r}", hint="name another namespace")
        await self._store.offer(package.id, namespace, event=self._event(caller, "transfer-offer", package, details=namespace))

    async def accept(self, caller: Caller, kind: PackageKind, name: str) -> str:
        package = await self._store.find_package(kind, name)
        to = await self._store.offered(package.id) if package and package.status != PackageStatus.DELETED else None
        if package is None or to is None or not caller.owns((to,)):
            raise NotFoundError(f"no {kind} named {name[:80]!r} was offered to you", hint="ask its owner to offer it")
        caller.require(caller.may_publish(to), f"accept for {to!r}", scope=f"publish:{to}")
        await self._store.transfer(package.id, to, event=self._event(caller, "transfer-accept", package, details=to))
        return to

    async def _found(self, caller: Caller, kind: PackageKind, name: str) -> tuple[Package, tuple[str, ...]]:
        package = await self._store.find_package(kind, name)
        if package is None or not caller.may_read(package):
            raise NotFoundError(f"no {kind} is named {name[:80]!r} here", hint="search for it, or log in if it is private")
        return package, await self._store.owners(package.id)

    async def _owned(self, caller: Caller, kind: PackageKind, name: str, what: str) -> Package:
        package, owners = await self._found(caller, kind, name)
        acting = caller.acts_for
        allowed = acting is None or not set(acting).isdisjoint(owners)
        caller.require(allowed, f"{what} {name}", scope=f"publish:{package.namespace}")
        return package

    def _event(self, caller: Caller, action: str, package: Package, *, version: str = "", details: str = "") -> AuditEvent:
        told = f"{version} {details}".strip()
        return AuditEvent(self._clock(), caller.name, action, f"{package.kind}:{package.name}", told[:_LONGEST_REASON])


def _reason(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_REASON]
