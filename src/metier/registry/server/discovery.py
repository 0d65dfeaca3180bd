"""Where clients look that do not know us: the well-known index of skills, and one small file for each skill.

A client that cannot send a header reaches private skills below /t/TOKEN, with a token that may only read.
"""

from __future__ import annotations

import msgspec
from starlette.types import ASGIApp

from metier.errors import NotFoundError, RefusedError
from metier.registry.domain.records import Package, PackageKind, Release

from . import views as presenting
from .packages import package_routes
from .responses import HttpResponse, cacheable_response, json_response, text_response
from .routing import RegistryRequest, Route

__all__ = ["ROUTES"]

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_PLACE = "/.well-known/agent-skills/index.json"
_OLD = "/.well-known/skills"


class DiscoveryEntry(msgspec.Struct):
    name: str
    type: str
    description: str
    url: str
    digest: str


class DiscoveryIndex(msgspec.Struct, rename={"schema": "$schema"}):
    skills: list[DiscoveryEntry]
    schema: str = SCHEMA


class LegacyEntry(msgspec.Struct):
    name: str
    description: str
    files: list[str]


class LegacyIndex(msgspec.Struct):
    skills: list[LegacyEntry]


class SparseIndexLine(msgspec.Struct):
    """One version, as `/index/NAME.json` has it, one a line."""

    name: str
    version: str
    digest: str
    archive: str
    """`sha256:` of the zip."""
    size: int
    yanked: bool
    reason: str
    signed: str
    verdict: str
    url: str


async def well_known(call: RegistryRequest) -> HttpResponse:
    _only_reads(call)
    cards = await call.registry.reading.index(call.caller, namespace=call.params.get("namespace", ""))
    root = f"{call.base}/t/{call.params['token']}" if "token" in call.params else call.base
    entries = [
        DiscoveryEntry(
            card.name, "archive", card.description, f"{root}/skills/{card.name}/{card.version}.zip", f"sha256:{card.archive}"
        )
        for card in cards
    ]
    return json_response(DiscoveryIndex(entries))


async def old_index(call: RegistryRequest) -> HttpResponse:
    _need_old(call)
    reading = call.registry.reading
    entries = []
    for card in await reading.index(call.caller, limit=200):
        _, release = await reading.release(call.caller, PackageKind.SKILL, card.name)
        entries.append(LegacyEntry(card.name, card.description, [row.path for row in presenting.details(release).files]))
    return json_response(LegacyIndex(entries))


async def old_file(call: RegistryRequest) -> HttpResponse:
    _need_old(call)
    _, data = await call.registry.reading.file(call.caller, PackageKind.SKILL, call.params["name"], call.params["path"])
    return HttpResponse(data, type=b"text/plain; charset=utf-8")


async def sparse(call: RegistryRequest) -> HttpResponse:
    file = call.params["file"]
    if not file.endswith(".json"):
        raise NotFoundError(f"there is nothing at {call.scope['path'][:200]!r}", hint="a file is called NAME.json")
    card, releases, _ = await call.registry.reading.releases(call.caller, PackageKind.SKILL, file.removesuffix(".json"))
    lines = b"".join(msgspec.json.encode(_line(card, release, call.base)) + b"\n" for release in reversed(releases))
    return cacheable_response(lines, type=b"application/jsonl")


def _line(card: Package, release: Release, base: str) -> SparseIndexLine:
    link = f"{presenting.home(card.kind, card.name, base)}/{release.version}.zip"
    return SparseIndexLine(
        card.name, release.version, release.digest, f"sha256:{release.archive}", release.size, release.yanked is not None,
        release.yank_reason, release.signed, release.verdict, link,
    )  # fmt: skip


async def clawhub_site(call: RegistryRequest) -> HttpResponse:
    return json_response({"apiBase": call.base, "authBase": call.base})


async def robots(_call: RegistryRequest) -> HttpResponse:
    return text_response("User-agent: *\nDisallow: /t/\nDisallow: /api/\n")


def _only_reads(call: RegistryRequest) -> None:
    """A token in an address ends up in logs and histories, so one that could change something is not taken there."""
    if "token" in call.params and any(not scope.startswith("read") for scope in call.caller.scopes):
        raise RefusedError("a token in an address may only read", rule="token-in-address", hint="make one with the scope read")


def _need_old(call: RegistryRequest) -> None:
    if not call.registry.options.old_index:
        raise NotFoundError("this registry does not serve the index of version 0.1.0, which has no digests",
                       hint="use /.well-known/agent-skills/index.json")  # fmt: skip


async def _archive_by_token(call: RegistryRequest) -> ASGIApp:
    _only_reads(call)
    return await _ARCHIVE.endpoint(call)


_ARCHIVE = next(route for route in package_routes(PackageKind.SKILL) if route.path == "/skills/{name}/{archive}")

ROUTES = (
    Route(method="GET", path=_PLACE, endpoint=well_known, about="The skills of this site, version 0.2.0.", answers=DiscoveryIndex),
    Route(method="GET", path=f"/{{namespace}}{_PLACE}", endpoint=well_known, about="Those of one namespace.", answers=DiscoveryIndex),
    Route(method="GET", path=f"/t/{{token}}{_PLACE}", endpoint=well_known, answers=DiscoveryIndex,
          about="Private ones too, for clients that cannot send a header; the token may only read."),
    Route(method="GET", path=f"/t/{{token}}/{{namespace}}{_PLACE}", endpoint=well_known, answers=DiscoveryIndex,
          about="The same of one namespace."),
    Route(method="GET", path="/t/{token}/skills/{name}/{archive}", endpoint=_archive_by_token, rate="download",
          about="The archive of one version, VERSION.zip.", answers=bytes),
    Route(method="GET", path=f"{_OLD}/index.json", endpoint=old_index, about="Version 0.1.0, if it is switched on.",
          answers=LegacyIndex),
    Route(method="GET", path=f"{_OLD}/{{name}}/{{path...}}", endpoint=old_file, about="One file of it.", answers=bytes),
    Route(method="GET", path="/index/{file}", endpoint=sparse, about="Every version of one skill, one JSON object a line.",
          answers=str),
    Route(method="GET", path="/.well-known/clawhub.json", endpoint=clawhub_site, about="Where clawhub finds its API.",
          answers=dict[str, str]),
    Route(method="GET", path="/robots.txt", endpoint=robots, about="What crawlers leave alone.", answers=str),
)  # fmt: skip
