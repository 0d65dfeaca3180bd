"""The well-known index of skills, and one index file for each skill, for clients of other projects.

Clients that cannot send a header reach private skills at /t/TOKEN, with a token that has only the scope read.
"""

from __future__ import annotations

import msgspec
from starlette.types import ASGIApp

from metier.errors import NotFoundError, RefusedError
from metier.registry.domain.records import Package, PackageKind, Release

from . import views
from .packages import package_routes
from .responses import HttpResponse, cacheable_response, json_response, text_response
from .routing import RegistryRequest, Route

__all__ = ["ROUTES"]

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_INDEX_PATH = "/.well-known/agent-skills/index.json"
_LEGACY_PATH = "/.well-known/skills"


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
    """One version in `/index/NAME.json`, which has one JSON object per line."""

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
    available: str
    """The end of its cool-down; empty after that."""


async def well_known(request: RegistryRequest) -> HttpResponse:
    _check_read_only(request)
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


async def legacy_index(request: RegistryRequest) -> HttpResponse:
    _check_legacy_enabled(request)
    queries = request.registry.queries
    entries = []
    for package in await queries.index(request.caller, limit=200):
        _, release = await queries.release(request.caller, PackageKind.SKILL, package.name)
        entries.append(LegacyEntry(package.name, package.description, [row.path for row in views.details(release).files]))
    return json_response(LegacyIndex(entries))


async def legacy_file(request: RegistryRequest) -> HttpResponse:
    _check_legacy_enabled(request)
    _, data = await request.registry.queries.file(
        request.caller, PackageKind.SKILL, request.params["name"], request.params["path"]
    )
    return HttpResponse(data, content_type=b"text/plain; charset=utf-8")


async def sparse_index(request: RegistryRequest) -> HttpResponse:
    file = request.params["file"]
    if not file.endswith(".json"):
        raise NotFoundError(f"no page {request.scope['path'][:200]!r}", hint="use /index/NAME.json")
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
        views.iso(release.available) if release.available else "",
    )


async def clawhub_site(request: RegistryRequest) -> HttpResponse:
    return json_response({"apiBase": request.base, "authBase": request.base})


async def robots(_request: RegistryRequest) -> HttpResponse:
    return text_response("User-agent: *\nDisallow: /t/\nDisallow: /api/\n")


def _check_read_only(request: RegistryRequest) -> None:
    """Refuses tokens with other scopes than read: a token in an address ends up in logs and histories."""
    if "token" in request.params and any(not scope.startswith("read") for scope in request.caller.scopes):
        raise RefusedError(
            "a token in an address may only have the scope read", rule="token-in-address", hint="create one with the scope read"
        )


def _check_legacy_enabled(request: RegistryRequest) -> None:
    if not request.registry.options.old_index:
        raise NotFoundError("this registry does not serve the index of version 0.1.0",
                       hint="use /.well-known/agent-skills/index.json")  # fmt: skip


async def _archive_by_token(request: RegistryRequest) -> ASGIApp:
    _check_read_only(request)
    return await _ARCHIVE.endpoint(request)


_ARCHIVE = next(route for route in package_routes(PackageKind.SKILL) if route.path == "/skills/{name}/{archive}")

ROUTES = (
    Route(
        method="GET",
        path=_INDEX_PATH,
        endpoint=well_known,
        summary="The index of all skills, version 0.2.0.",
        response_type=DiscoveryIndex,
    ),
    Route(
        method="GET",
        path=f"/{{namespace}}{_INDEX_PATH}",
        endpoint=well_known,
        summary="The index of one namespace.",
        response_type=DiscoveryIndex,
    ),
    Route(
        method="GET",
        path=f"/t/{{token}}{_INDEX_PATH}",
        endpoint=well_known,
        response_type=DiscoveryIndex,
        summary="The index with private skills, for clients that cannot send a header.",
    ),
    Route(
        method="GET",
        path=f"/t/{{token}}/{{namespace}}{_INDEX_PATH}",
        endpoint=well_known,
        response_type=DiscoveryIndex,
        summary="The index of one namespace with private skills.",
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
        path=f"{_LEGACY_PATH}/index.json",
        endpoint=legacy_index,
        summary="The index of version 0.1.0, if enabled.",
        response_type=LegacyIndex,
    ),
    Route(
        method="GET",
        path=f"{_LEGACY_PATH}/{{name}}/{{path...}}",
        endpoint=legacy_file,
        summary="One file of a skill, version 0.1.0.",
        response_type=bytes,
    ),
    Route(
        method="GET",
        path="/index/{file}",
        endpoint=sparse_index,
        summary="All versions of one skill, one JSON object per line.",
        response_type=str,
    ),
    Route(
        method="GET",
        path="/.well-known/clawhub.json",
        endpoint=clawhub_site,
        summary="The API address for the clawhub client.",
        response_type=dict[str, str],
    ),
    Route(method="GET", path="/robots.txt", endpoint=robots, summary="Rules for crawlers.", response_type=str),
)
