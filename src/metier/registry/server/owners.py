"""What owners and moderators do with a package, over HTTP."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from metier.registry import presenting, wire
from metier.registry.model import Kind

from .answers import Answer, json_answer
from .routing import Call, Endpoint, Route
from .uploads import read_json

__all__ = ["owner_routes"]


class Reason(Struct):
    reason: str = ""


class Tag(Struct):
    version: str


class Visibility(Struct):
    visibility: str


class Status(Struct):
    status: str
    reason: str = ""


class To(Struct):
    to: str


class Sign(Struct):
    """Either a key and its signature, or a sigstore bundle."""

    keyid: str = ""
    signature: str = ""
    bundle: str = ""


class Done(Struct):
    ok: bool = True
    changed: bool = True


class Owners(Struct):
    owners: list[str]


def owner_routes(kind: Kind) -> tuple[Route, ...]:
    one = _Owners(kind)
    name = f"/{kind}s/{{name}}"
    version = f"{name}/versions/{{version}}"
    owner = "publish:NAMESPACE"

    def change(method: str, path: str, endpoint: Endpoint, about: str, *, auth: str = owner, **more: Any) -> Route:
        # Any: the other fields of Route
        given = {"answers": Done, **more}
        return Route(method=method, path=path, endpoint=endpoint, about=about, rate="write", auth=auth, **given)

    return (
        change("POST", f"{version}/yank", one.yank, "Hide a version from whoever does not name it.", auth="yank", body=Reason),
        change("POST", f"{version}/unyank", one.unyank, "Show it again.", auth="yank"),
        change("PUT", f"{version}/signature", one.sign, "Add a signature.", body=Sign, answers=wire.SignatureRow),
        change("POST", f"{version}/rescan", one.rescan, "Scan it again with today's rules.", status=202),
        change("DELETE", name, one.delete, "Delete it; its name stays reserved for its owners for a while.", body=Reason),
        change("POST", f"{name}/undelete", one.undelete, "Take a deletion back."),
        change("PUT", f"{name}/visibility", one.visibility, "Make it private or public.", body=Visibility),
        change("PUT", f"{name}/status", one.status, "Say that it is active, deprecated or archived.", body=Status),
        change("PUT", f"{name}/tags/{{tag}}", one.tag, "Let a tag point to a version.", body=Tag),
        change("DELETE", f"{name}/tags/{{tag}}", one.untag, "Remove a tag."),
        Route(method="GET", path=f"{name}/owners", endpoint=one.owners, about="Its owners.", answers=Owners),
        change("PUT", f"{name}/owners/{{namespace}}", one.add_owner, "Add an owner.", answers=Owners),
        change("DELETE", f"{name}/owners/{{namespace}}", one.remove_owner, "Remove an owner.", answers=Owners),
        change("POST", f"{name}/transfer", one.offer, "Offer it to another namespace.", body=To),
        change("POST", f"{name}/transfer/accept", one.accept, "Accept what was offered."),
        change("POST", f"{name}/report", one.report, "Report it to the moderators.", auth="", body=wire.Report, status=201),
        change("PUT", f"{name}/quarantine", one.quarantine, "Hide it until it was looked at.", auth="admin", body=Reason),
        change("DELETE", f"{name}/quarantine", one.release, "End a quarantine.", auth="admin"),
    )


class _Owners:
    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    async def yank(self, call: Call) -> Answer:
        wanted = await read_json(call, Reason)
        changed = await call.registry.owning.yank(
            call.caller, self.kind, call.params["name"], call.params["version"], reason=wanted.reason
        )
        return json_answer(Done(changed=changed))

    async def unyank(self, call: Call) -> Answer:
        changed = await call.registry.owning.unyank(call.caller, self.kind, call.params["name"], call.params["version"])
        return json_answer(Done(changed=changed))

    async def sign(self, call: Call) -> Answer:
        wanted = await read_json(call, Sign)
        vouching, name, version = call.registry.vouching, call.params["name"], call.params["version"]
        if wanted.bundle:
            made = await vouching.sign_by_bundle(call.caller, self.kind, name, version, wanted.bundle)
        else:
            made = await vouching.sign(
                call.caller, self.kind, name, version, keyid=wanted.keyid, payload=wanted.signature
            )  # fmt: skip
        return json_answer(presenting.signature(made))

    async def rescan(self, call: Call) -> Answer:
        await call.registry.owning.rescan(call.caller, self.kind, call.params["name"], call.params["version"])
        return json_answer(Done(), status=202)

    async def delete(self, call: Call) -> Answer:
        wanted = await read_json(call, Reason)
        await call.registry.owning.delete(call.caller, self.kind, call.params["name"], reason=wanted.reason)
        return json_answer(Done())

    async def undelete(self, call: Call) -> Answer:
        await call.registry.owning.undelete(call.caller, self.kind, call.params["name"])
        return json_answer(Done())

    async def visibility(self, call: Call) -> Answer:
        wanted = await read_json(call, Visibility)
        await call.registry.owning.set_visibility(call.caller, self.kind, call.params["name"], wanted.visibility)
        return json_answer(Done())

    async def status(self, call: Call) -> Answer:
        wanted = await read_json(call, Status)
        await call.registry.owning.set_status(call.caller, self.kind, call.params["name"], wanted.status, reason=wanted.reason)
        return json_answer(Done())

    async def tag(self, call: Call) -> Answer:
        wanted = await read_json(call, Tag)
        await call.registry.owning.set_tag(call.caller, self.kind, call.params["name"], call.params["tag"], wanted.version)
        return json_answer(Done())

    async def untag(self, call: Call) -> Answer:
        await call.registry.owning.set_tag(call.caller, self.kind, call.params["name"], call.params["tag"], None)
        return json_answer(Done())

    async def owners(self, call: Call) -> Answer:
        card = await call.registry.reading.card(call.caller, self.kind, call.params["name"])
        return json_answer(Owners(list(await call.registry.reading.owners(card))))

    async def add_owner(self, call: Call) -> Answer:
        return await self._owner(call, present=True)

    async def remove_owner(self, call: Call) -> Answer:
        return await self._owner(call, present=False)

    async def _owner(self, call: Call, *, present: bool) -> Answer:
        owners = await call.registry.owning.set_owner(
            call.caller, self.kind, call.params["name"], call.params["namespace"], present=present
        )
        return json_answer(Owners(list(owners)))

    async def offer(self, call: Call) -> Answer:
        wanted = await read_json(call, To)
        await call.registry.owning.offer(call.caller, self.kind, call.params["name"], wanted.to)
        return json_answer(Done())

    async def accept(self, call: Call) -> Answer:
        await call.registry.owning.accept(call.caller, self.kind, call.params["name"])
        return json_answer(Done())

    async def report(self, call: Call) -> Answer:
        wanted = await read_json(call, wire.Report)
        await call.registry.moderating.report(call.caller, self.kind, call.params["name"], wanted)
        return json_answer(Done(), status=201)

    async def quarantine(self, call: Call) -> Answer:
        wanted = await read_json(call, Reason)
        await call.registry.moderating.quarantine(call.caller, self.kind, call.params["name"], reason=wanted.reason)
        return json_answer(Done())

    async def release(self, call: Call) -> Answer:
        await call.registry.moderating.release(call.caller, self.kind, call.params["name"])
        return json_answer(Done())
