"""API routes for the owners of a package and for moderators."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from metier.registry import wire
from metier.registry.domain.records import PackageKind

from . import views
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
    """A signature with its key id, or a sigstore bundle."""

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

    def change(method: str, path: str, endpoint: Endpoint, summary: str, *, auth: str = owner, **more: Any) -> Route:
        # Any: other fields of Route
        options = {"response_type": ChangeResult, "rate": "write", **more}
        return Route(method=method, path=path, endpoint=endpoint, summary=summary, auth=auth, **options)

    return (
        change("POST", f"{version}/yank", one.yank, "Yank a version.", auth="yank", body=ReasonBody),
        change("POST", f"{version}/unyank", one.unyank, "Undo a yank.", auth="yank"),
        change(
            "PUT", f"{version}/signature", one.sign, "Add a signature.", body=SignatureBody, response_type=wire.SignatureRow
        ),
        change("POST", f"{version}/rescan", one.rescan, "Scan a version again.", status=202),
        change("DELETE", name, one.delete, "Delete a package; its name stays reserved for its owners.", body=ReasonBody),
        change("POST", f"{name}/undelete", one.undelete, "Undo a deletion."),
        change("PUT", f"{name}/visibility", one.visibility, "Set the visibility: private or public.", body=VisibilityBody),
        change("PUT", f"{name}/status", one.status, "Set the status: active, deprecated or archived.", body=StatusBody),
        change("PUT", f"{name}/tags/{{tag}}", one.tag, "Set a tag to a version.", body=TagBody),
        change("DELETE", f"{name}/tags/{{tag}}", one.untag, "Remove a tag."),
        Route(method="GET", path=f"{name}/owners", endpoint=one.owners, summary="List the owners.", response_type=OwnerList),
        change("PUT", f"{name}/owners/{{namespace}}", one.add_owner, "Add an owner.", response_type=OwnerList),
        change("DELETE", f"{name}/owners/{{namespace}}", one.remove_owner, "Remove an owner.", response_type=OwnerList),
        change("POST", f"{name}/transfer", one.offer, "Offer the package to another namespace.", body=TransferBody),
        change("POST", f"{name}/transfer/accept", one.accept, "Accept an offered package."),
        change(
            "POST",
            f"{name}/report",
            one.report,
            "Report a package to the moderators.",
            auth="",
            rate="report",
            body=wire.AbuseReport,
            status=201,
        ),
        change("PUT", f"{name}/quarantine", one.quarantine, "Quarantine a package.", auth="admin", body=ReasonBody),
        change("DELETE", f"{name}/quarantine", one.release, "End a quarantine.", auth="admin"),
        change("PUT", f"{version}/quarantine", one.quarantine_version, "Quarantine a version.", auth="admin", body=ReasonBody),
        change("DELETE", f"{version}/quarantine", one.release_version, "Put a quarantined version online.", auth="admin"),
        change("DELETE", version, one.remove_version, "Delete a quarantined version.", auth="admin"),
    )


class _Owners:
    def __init__(self, kind: PackageKind) -> None:
        self.kind = kind

    async def yank(self, request: RegistryRequest) -> HttpResponse:
        wanted = await read_json(request, ReasonBody)
        changed = await request.registry.ownership.yank(
            request.caller, self.kind, request.params["name"], request.params["version"], reason=wanted.reason
        )
        return json_response(ChangeResult(changed=changed))

    async def unyank(self, request: RegistryRequest) -> HttpResponse:
        changed = await request.registry.ownership.unyank(
            request.caller, self.kind, request.params["name"], request.params["version"]
        )
        return json_response(ChangeResult(changed=changed))

    async def sign(self, request: RegistryRequest) -> HttpResponse:
        wanted = await read_json(request, SignatureBody)
        signatures, name, version = request.registry.signatures, request.params["name"], request.params["version"]
        if wanted.bundle:
            made = await signatures.sign_by_bundle(request.caller, self.kind, name, version, wanted.bundle)
        else:
            made = await signatures.sign(request.caller, self.kind, name, version, keyid=wanted.keyid, payload=wanted.signature)
        return json_response(views.signature(made))

    async def rescan(self, request: RegistryRequest) -> HttpResponse:
        await request.registry.ownership.rescan(request.caller, self.kind, request.params["name"], request.params["version"])
        return json_response(ChangeResult(), status=202)

    async def delete(self, request: RegistryRequest) -> HttpResponse:
        wanted = await read_json(request, ReasonBody)
        await request.registry.ownership.delete(request.caller, self.kind, request.params["name"], reason=wanted.reason)
        return json_response(ChangeResult())

    async def undelete(self, request: RegistryRequest) -> HttpResponse:
        await request.registry.ownership.undelete(request.caller, self.kind, request.params["name"])
        return json_response(ChangeResult())

    async def visibility(self, request: RegistryRequest) -> HttpResponse:
        wanted = await read_json(request, VisibilityBody)
        await request.registry.ownership.set_visibility(request.caller, self.kind, request.params["name"], wanted.visibility)
        return json_response(ChangeResult())

    async def status(self, request: RegistryRequest) -> HttpResponse:
        wanted = await read_json(request, StatusBody)
        await request.registry.ownership.set_status(
            request.caller, self.kind, request.params["name"], wanted.status, reason=wanted.reason
        )
        return json_response(ChangeResult())

    async def tag(self, request: RegistryRequest) -> HttpResponse:
        wanted = await read_json(request, TagBody)
        await request.registry.ownership.set_tag(
            request.caller, self.kind, request.params["name"], request.params["tag"], wanted.version
        )
        return json_response(ChangeResult())

    async def untag(self, request: RegistryRequest) -> HttpResponse:
        await request.registry.ownership.set_tag(request.caller, self.kind, request.params["name"], request.params["tag"], None)
        return json_response(ChangeResult())

    async def owners(self, request: RegistryRequest) -> HttpResponse:
        package = await request.registry.queries.find_package(request.caller, self.kind, request.params["name"])
        return json_response(OwnerList(list(await request.registry.queries.owners(package))))

    async def add_owner(self, request: RegistryRequest) -> HttpResponse:
        return await self._owner(request, present=True)

    async def remove_owner(self, request: RegistryRequest) -> HttpResponse:
        return await self._owner(request, present=False)

    async def _owner(self, request: RegistryRequest, *, present: bool) -> HttpResponse:
        owners = await request.registry.ownership.set_owner(
            request.caller, self.kind, request.params["name"], request.params["namespace"], present=present
        )
        return json_response(OwnerList(list(owners)))

    async def offer(self, request: RegistryRequest) -> HttpResponse:
        wanted = await read_json(request, TransferBody)
        await request.registry.ownership.offer(request.caller, self.kind, request.params["name"], wanted.to)
        return json_response(ChangeResult())

    async def accept(self, request: RegistryRequest) -> HttpResponse:
        await request.registry.ownership.accept(request.caller, self.kind, request.params["name"])
        return json_response(ChangeResult())

    async def report(self, request: RegistryRequest) -> HttpResponse:
        wanted = await read_json(request, wire.AbuseReport)
        await request.registry.moderation.report(request.caller, self.kind, request.params["name"], wanted)
        return json_response(ChangeResult(), status=201)

    async def quarantine(self, request: RegistryRequest) -> HttpResponse:
        wanted = await read_json(request, ReasonBody)
        await request.registry.moderation.quarantine(request.caller, self.kind, request.params["name"], reason=wanted.reason)
        return json_response(ChangeResult())

    async def release(self, request: RegistryRequest) -> HttpResponse:
        await request.registry.moderation.release(request.caller, self.kind, request.params["name"])
        return json_response(ChangeResult())

    async def quarantine_version(self, request: RegistryRequest) -> HttpResponse:
        wanted = await read_json(request, ReasonBody)
        name, version = request.params["name"], request.params["version"]
        await request.registry.moderation.quarantine_version(request.caller, self.kind, name, version, reason=wanted.reason)
        return json_response(ChangeResult())

    async def release_version(self, request: RegistryRequest) -> HttpResponse:
        name, version = request.params["name"], request.params["version"]
        await request.registry.moderation.release_version(request.caller, self.kind, name, version)
        return json_response(ChangeResult())

    async def remove_version(self, request: RegistryRequest) -> HttpResponse:
        name, version = request.params["name"], request.params["version"]
        await request.registry.moderation.remove_version(request.caller, self.kind, name, version)
        return json_response(ChangeResult())
