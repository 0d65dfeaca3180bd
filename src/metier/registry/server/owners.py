"""What owners and moderators do with a package, over HTTP."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from metier.registry import wire
from metier.registry.domain.records import PackageKind

from . import views as presenting
from .responses import HttpResponse, json_response
from .routing import Endpoint, RegistryRequest, Route
from .uploads import read_json

__all__ = ["owner_routes"]


class ReasonBody(Struct):
    reason: str = ""


class TagBody(Struct):
    version: str


class VisibilityBody(Struct):
    visibility: str


class StatusBody(Struct):
    status: str
    reason: str = ""


class TransferBody(Struct):
    to: str


class SignatureBody(Struct):
    """Either a key and its signature, or a sigstore bundle."""

    keyid: str = ""
    signature: str = ""
    bundle: str = ""


class ChangeResult(Struct):
    ok: bool = True
    changed: bool = True


class OwnerList(Struct):
    owners: list[str]


def owner_routes(kind: PackageKind) -> tuple[Route, ...]:
    one = _Owners(kind)
    name = f"/{kind}s/{{name}}"
    version = f"{name}/versions/{{version}}"
    owner = "publish:NAMESPACE"

    def change(method: str, path: str, endpoint: Endpoint, about: str, *, auth: str = owner, **more: Any) -> Route:
        # Any: the other fields of Route
        given = {"answers": ChangeResult, **more}
        return Route(method=method, path=path, endpoint=endpoint, about=about, rate="write", auth=auth, **given)

    return (
        change(
            "POST", f"{version}/yank", one.yank, "Hide a version from whoever does not name it.", auth="yank", body=ReasonBody
        ),
        change("POST", f"{version}/unyank", one.unyank, "Show it again.", auth="yank"),
        change("PUT", f"{version}/signature", one.sign, "Add a signature.", body=SignatureBody, answers=wire.SignatureRow),
        change("POST", f"{version}/rescan", one.rescan, "Scan it again with today's rules.", status=202),
        change("DELETE", name, one.delete, "Delete it; its name stays reserved for its owners for a while.", body=ReasonBody),
        change("POST", f"{name}/undelete", one.undelete, "Take a deletion back."),
        change("PUT", f"{name}/visibility", one.visibility, "Make it private or public.", body=VisibilityBody),
        change("PUT", f"{name}/status", one.status, "Say that it is active, deprecated or archived.", body=StatusBody),
        change("PUT", f"{name}/tags/{{tag}}", one.tag, "Let a tag point to a version.", body=TagBody),
        change("DELETE", f"{name}/tags/{{tag}}", one.untag, "Remove a tag."),
        Route(method="GET", path=f"{name}/owners", endpoint=one.owners, about="Its owners.", answers=OwnerList),
        change("PUT", f"{name}/owners/{{namespace}}", one.add_owner, "Add an owner.", answers=OwnerList),
        change("DELETE", f"{name}/owners/{{namespace}}", one.remove_owner, "Remove an owner.", answers=OwnerList),
        change("POST", f"{name}/transfer", one.offer, "Offer it to another namespace.", body=TransferBody),
        change("POST", f"{name}/transfer/accept", one.accept, "Accept what was offered."),
        change(
            "POST", f"{name}/report", one.report, "Report it to the moderators.", auth="", body=wire.AbuseReport, status=201
        ),
        change("PUT", f"{name}/quarantine", one.quarantine, "Hide it until it was looked at.", auth="admin", body=ReasonBody),
        change("DELETE", f"{name}/quarantine", one.release, "End a quarantine.", auth="admin"),
    )


class _Owners:
    def __init__(self, kind: PackageKind) -> None:
        self.kind = kind

    async def yank(self, call: RegistryRequest) -> HttpResponse:
        wanted = await read_json(call, ReasonBody)
        changed = await call.registry.owning.yank(
            call.caller, self.kind, call.params["name"], call.params["version"], reason=wanted.reason
        )
        return json_response(ChangeResult(changed=changed))

    async def unyank(self, call: RegistryRequest) -> HttpResponse:
        changed = await call.registry.owning.unyank(call.caller, self.kind, call.params["name"], call.params["version"])
        return json_response(ChangeResult(changed=changed))

    async def sign(self, call: RegistryRequest) -> HttpResponse:
        wanted = await read_json(call, SignatureBody)
        vouching, name, version = call.registry.vouching, call.params["name"], call.params["version"]
        if wanted.bundle:
            made = await vouching.sign_by_bundle(call.caller, self.kind, name, version, wanted.bundle)
        else:
            made = await vouching.sign(
                call.caller, self.kind, name, version, keyid=wanted.keyid, payload=wanted.signature
            )  # fmt: skip
        return json_response(presenting.signature(made))

    async def rescan(self, call: RegistryRequest) -> HttpResponse:
        await call.registry.owning.rescan(call.caller, self.kind, call.params["name"], call.params["version"])
        return json_response(ChangeResult(), status=202)

    async def delete(self, call: RegistryRequest) -> HttpResponse:
        wanted = await read_json(call, ReasonBody)
        await call.registry.owning.delete(call.caller, self.kind, call.params["name"], reason=wanted.reason)
        return json_response(ChangeResult())

    async def undelete(self, call: RegistryRequest) -> HttpResponse:
        await call.registry.owning.undelete(call.caller, self.kind, call.params["name"])
        return json_response(ChangeResult())

    async def visibility(self, call: RegistryRequest) -> HttpResponse:
        wanted = await read_json(call, VisibilityBody)
        await call.registry.owning.set_visibility(call.caller, self.kind, call.params["name"], wanted.visibility)
        return json_response(ChangeResult())

    async def status(self, call: RegistryRequest) -> HttpResponse:
        wanted = await read_json(call, StatusBody)
        await call.registry.owning.set_status(call.caller, self.kind, call.params["name"], wanted.status, reason=wanted.reason)
        return json_response(ChangeResult())

    async def tag(self, call: RegistryRequest) -> HttpResponse:
        wanted = await read_json(call, TagBody)
        await call.registry.owning.set_tag(call.caller, self.kind, call.params["name"], call.params["tag"], wanted.version)
        return json_response(ChangeResult())

    async def untag(self, call: RegistryRequest) -> HttpResponse:
        await call.registry.owning.set_tag(call.caller, self.kind, call.params["name"], call.params["tag"], None)
        return json_response(ChangeResult())

    async def owners(self, call: RegistryRequest) -> HttpResponse:
        card = await call.registry.reading.card(call.caller, self.kind, call.params["name"])
        return json_response(OwnerList(list(await call.registry.reading.owners(card))))

    async def add_owner(self, call: RegistryRequest) -> HttpResponse:
        return await self._owner(call, present=True)

    async def remove_owner(self, call: RegistryRequest) -> HttpResponse:
        return await self._owner(call, present=False)

    async def _owner(self, call: RegistryRequest, *, present: bool) -> HttpResponse:
        owners = await call.registry.owning.set_owner(
            call.caller, self.kind, call.params["name"], call.params["namespace"], present=present
        )
        return json_response(OwnerList(list(owners)))

    async def offer(self, call: RegistryRequest) -> HttpResponse:
        wanted = await read_json(call, TransferBody)
        await call.registry.owning.offer(call.caller, self.kind, call.params["name"], wanted.to)
        return json_response(ChangeResult())

    async def accept(self, call: RegistryRequest) -> HttpResponse:
        await call.registry.owning.accept(call.caller, self.kind, call.params["name"])
        return json_response(ChangeResult())

    async def report(self, call: RegistryRequest) -> HttpResponse:
        wanted = await read_json(call, wire.AbuseReport)
        await call.registry.moderating.report(call.caller, self.kind, call.params["name"], wanted)
        return json_response(ChangeResult(), status=201)

    async def quarantine(self, call: RegistryRequest) -> HttpResponse:
        wanted = await read_json(call, ReasonBody)
        await call.registry.moderating.quarantine(call.caller, self.kind, call.params["name"], reason=wanted.reason)
        return json_response(ChangeResult())

    async def release(self, call: RegistryRequest) -> HttpResponse:
        await call.registry.moderating.release(call.caller, self.kind, call.params["name"])
        return json_response(ChangeResult())
