"""Where clients look that do not know us: the well-known index of skills, and one small file for each skill.

A client that cannot send a header reaches private skills below /t/TOKEN, with a token that may only read.
"""

from __future__ import annotations

import msgspec
from starlette.types import ASGIApp

from metier.errors import NotFoundError, RefusedError
from metier.registry.domain.records import Package, PackageKind, Release

from . import views as views
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


async def well_known(request: RegistryRequest) -> HttpResponse:
    _only_reads(request)
    packages = await request.registry.queries.index(request.caller, namespace=request.params.get("namespace", ""))
    root = f"{request.base}/t/{request.params['token']}" if "token" in request.params else request.base
    entries = [
        DiscoveryEntry(
            package.name,
            "archive",
            package.description,
            f"{root}/skills/{package.name}/{package.version}.zip",
            f"sha256:{package.archive}",
        )
        for package in packages
    ]
    return json_response(DiscoveryIndex(entries))


async def old_index(request: RegistryRequest) -> HttpResponse:
    _need_old(request)
    queries = request.registry.queries
    entries = []
    for package in await queries.index(request.caller, limit=200):
        _, release = await queries.release(request.caller, PackageKind.SKILL, package.name)
        entries.append(LegacyEntry(package.name, package.description, [row.path for row in views.details(release).files]))
    return json_response(LegacyIndex(entries))


async def old_file(request: RegistryRequest) -> HttpResponse:
    _need_old(request)
    _, data = await request.registry.queries.file(
        request.caller, PackageKind.SKILL, request.params["name"], request.params["path"]
    )
    return HttpResponse(data, content_type=b"text/plain; charset=utf-8")


async def sparse(request: RegistryRequest) -> HttpResponse:
    file = request.params["file"]
    if not file.endswith(".json"):
        raise NotFoundError(f"there is nothing at {request.scope['path'][:200]!r}", hint="a file is called NAME.json")
    package, releases, _ = await request.registry.queries.releases(
        request.caller, PackageKind.SKILL, file.removesuffix(".json")
    )
    lines = b"".join(msgspec.json.encode(_line(package, release, request.base)) + b"\n" for release in reversed(releases))
    return cacheable_response(lines, content_type=b"application/jsonl")


def _line(package: Package, release: Release, base: str) -> SparseIndexLine:
    link = f"{views.package_url(package.kind, package.name, base)}/{release.version}.zip"
    return SparseIndexLine(
        package.name,
        release.version,
        release.digest,
        f"sha256:{release.archive}",
        release.size,
        release.yanked is not None,
        release.yank_reason,
        release.signed,
        release.verdict,
        link,
    )


async def clawhub_site(request: RegistryRequest) -> HttpResponse:
    return json_response({"apiBase": request.base, "authBase": request.base})


async def robots(_request: RegistryRequest) -> HttpResponse:
    return text_response("User-agent: *\nDisallow: /t/\nDisallow: /api/\n")


def _only_reads(request: RegistryRequest) -> None:
    """A token in an address ends up in logs and histories, so one that could change something is not taken there."""
    if "token" in request.params and any(not scope.startswith("read") for scope in request.caller.scopes):
        raise RefusedError("a token in an address may only read", rule="token-in-address", hint="make one with the scope read")


def _need_old(request: RegistryRequest) -> None:
    if not request.registry.options.old_index:
        raise NotFoundError("this registry does not serve the index of version 0.1.0, which has no digests",
                       hint="use /.well-known/agent-skills/index.json")  # fmt: skip


async def _archive_by_token(request: RegistryRequest) -> ASGIApp:
    _only_reads(request)
    return await _ARCHIVE.endpoint(request)


_ARCHIVE = next(route for route in package_routes(PackageKind.SKILL) if route.path == "/skills/{name}/{archive}")

ROUTES = (
    Route(
        method="GET",
        path=_PLACE,
        endpoint=well_known,
        summary="The skills of this site, version 0.2.0.",
        response_type=DiscoveryIndex,
    ),
    Route(
        method="GET",
        path=f"/{{namespace}}{_PLACE}",
        endpoint=well_known,
        summary="Those of one namespace.",
        response_type=DiscoveryIndex,
    ),
    Route(
        method="GET",
        path=f"/t/{{token}}{_PLACE}",
        endpoint=well_known,
        response_type=DiscoveryIndex,
        summary="Private ones too, for clients that cannot send a header; the token may only read.",
    ),
    Route(
        method="GET",
        path=f"/t/{{token}}/{{namespace}}{_PLACE}",
        endpoint=well_known,
        response_type=DiscoveryIndex,
        summary="The same of one namespace.",
    ),
    Route(
        method="GET",
        path="/t/{token}/skills/{name}/{archive}",
        endpoint=_archive_by_token,
        rate="download",
        summary="The archive of one version, VERSION.zip.",
        response_type=bytes,
    ),
    Route(
        method="GET",
        path=f"{_OLD}/index.json",
        endpoint=old_index,
        summary="Version 0.1.0, if it is switched on.",
        response_type=LegacyIndex,
    ),
    Route(method="GET", path=f"{_OLD}/{{name}}/{{path...}}", endpoint=old_file, summary="One file of it.", response_type=bytes),
    Route(
        method="GET",
        path="/index/{file}",
        endpoint=sparse,
        summary="Every version of one skill, one JSON object a line.",
        response_type=str,
    ),
    Route(
        method="GET",
        path="/.well-known/clawhub.json",
        endpoint=clawhub_site,
        summary="Where clawhub finds its API.",
        response_type=dict[str, str],
    ),
    Route(method="GET", path="/robots.txt", endpoint=robots, summary="What crawlers leave alone.", response_type=str),
)
