"""The part of the ClawHub API that its client uses: search, inspect, install, update, publish and delete.

Names and types are those of ClawHub. Errors are plain text, because its client prints the response body.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

from msgspec import Struct, field
from starlette.types import ASGIApp

from metier.archive import SKILL_LIMITS, Contents, Member, pack
from metier.errors import UsageError
from metier.registry.domain.publish import PublishRequest
from metier.registry.domain.queries import ListQuery
from metier.registry.domain.records import Package, PackageFilters, PackageKind, Release, ReleaseState, ScanStatus, Sort

from . import views
from .packages import int_parameter, package_routes
from .responses import HttpResponse, json_response
from .routing import QueryParameter, RegistryRequest, Route
from .uploads import read_json, receive_archive

__all__ = ["ROUTES"]

_SORTS = {"downloads": Sort.DOWNLOADS, "updated": Sort.UPDATED, "newest": Sort.UPDATED, "trending": Sort.DOWNLOADS}
_MOST_FILES = 500
_STATUS: dict[str, str] = {ReleaseState.ONLINE: "published"}
_VERDICTS = {ScanStatus.REVIEW: "suspicious", ScanStatus.BLOCK: "malicious"}


class UploadRequest(Struct):
    path: str
    size: int
    sha256: str
    contentType: str = ""  # noqa: N815  (a name of ClawHub)


class UploadedFile(Struct):
    path: str
    size: int
    storageId: str  # noqa: N815
    sha256: str


class ReleaseUpload(Struct):
    slug: str
    version: str
    files: list[UploadedFile]
    displayName: str = ""  # noqa: N815
    ownerHandle: str = ""  # noqa: N815
    changelog: str = ""
    tags: list[str] = field(default_factory=list)


async def search(request: RegistryRequest) -> HttpResponse:
    limit = min(int_parameter(request, "limit", 20, 1000), 100)
    found = await request.registry.queries.find(request.caller, ListQuery(query=request.query_params.get("q", ""), limit=limit))
    results = [{"slug": package.name, "displayName": package.name, "summary": package.description, "version": package.latest,
                "score": round(1 - place / 1000, 4), "downloads": package.downloads, "updatedAt": package.updated,
                "ownerHandle": package.namespace, "owner": {"handle": package.namespace}}
               for place, package in enumerate(found.packages)]  # fmt: skip
    return json_response({"results": results})


async def skills(request: RegistryRequest) -> HttpResponse:
    sort = _SORTS.get(request.query_params.get("sort", ""), Sort.UPDATED)
    query = ListQuery(filters=PackageFilters(kind=PackageKind.SKILL), sort=sort, cursor=request.query_params.get("cursor", ""),
                limit=min(int_parameter(request, "limit", 25, 1000), 100))  # fmt: skip
    found = await request.registry.queries.find(request.caller, query)
    items = [{**_skill(package), "latestVersion": _latest(package) if package.latest else None} for package in found.packages]
    return json_response({"items": items, "nextCursor": found.next})


async def skill(request: RegistryRequest) -> HttpResponse:
    package = await _package(request)
    return json_response(
        {
            "skill": _skill(package),
            "latestVersion": _latest(package) if package.latest else None,
            "metadata": None,
            "owner": {"handle": package.namespace, "displayName": package.namespace, "image": None},
            "moderation": _moderation(package),
        }
    )


async def moderation(request: RegistryRequest) -> HttpResponse:
    return json_response({"moderation": _moderation(await _package(request))})


async def versions(request: RegistryRequest) -> HttpResponse:
    _, releases, _ = await request.registry.queries.releases(request.caller, PackageKind.SKILL, request.params["slug"])
    return json_response({"items": [_version(release) for release in releases if not release.yanked], "nextCursor": None})


async def version(request: RegistryRequest) -> HttpResponse:
    package, release = await request.registry.queries.release(
        request.caller, PackageKind.SKILL, request.params["slug"], request.params["version"]
    )
    files = [{"path": row.path, "size": row.size, "sha256": row.sha256} for row in views.details(release).files]
    return json_response(
        {"version": {**_version(release), "files": files}, "skill": {"slug": package.name, "displayName": package.name}}
    )


async def file(request: RegistryRequest) -> HttpResponse:
    asked = request.query_params
    wanted = asked.get("version") or asked.get("tag") or ""
    _, data = await request.registry.queries.file(
        request.caller, PackageKind.SKILL, request.params["slug"], asked.get("path", ""), wanted
    )
    return HttpResponse(data, content_type=b"text/plain; charset=utf-8")


async def install(request: RegistryRequest) -> HttpResponse:
    package, release = await request.registry.queries.release(request.caller, PackageKind.SKILL, request.params["slug"])
    link = f"{request.base}/skills/{package.name}/{release.version}.zip"
    return json_response({"ok": True, "slug": package.name, "installKind": "archive",
                        "archive": {"version": release.version, "downloadUrl": link}})  # fmt: skip


async def download(request: RegistryRequest) -> ASGIApp:
    request.params["name"] = request.query_params.get("slug", "")
    return await _DOWNLOAD.endpoint(request)


async def resolve(request: RegistryRequest) -> HttpResponse:
    """Finds the version with exactly these files. The hash is over `path:sha256` lines."""
    slug, wanted = request.query_params.get("slug", ""), request.query_params.get("hash", "")
    package, releases, _ = await request.registry.queries.releases(request.caller, PackageKind.SKILL, slug)
    match = next((release.version for release in releases if fingerprint(release) == wanted), None)
    return json_response({"match": {"version": match} if match else None,
                        "latestVersion": {"version": package.latest} if package.latest else None})  # fmt: skip


async def whoami(request: RegistryRequest) -> HttpResponse:
    request.caller.require(True, "call whoami", scope="read")
    role = "admin" if request.caller.is_admin else "user"
    return json_response(
        {"user": {"handle": request.caller.name, "displayName": request.caller.name, "image": None, "role": role}}
    )


async def upload_url(request: RegistryRequest) -> HttpResponse:
    """Accepts each file before the release that names it. Unused files are garbage-collected later."""
    _check_may_upload(request)
    wanted = await read_json(request, UploadRequest)
    ticket = await request.registry.uploads.ticket(request.caller, wanted.sha256)
    return json_response({"uploadUrl": f"{request.base}/api/v1/uploads/{ticket}", "uploadTicket": ticket})


async def upload(request: RegistryRequest) -> HttpResponse:
    _check_may_upload(request)
    publisher, limit = request.registry.publisher, request.registry.options.upload_bytes
    async with (
        receive_archive(request, limit=limit, subject="the file", empty=True) as sent,
        publisher.turns.turn(request.caller),
    ):
        await request.registry.uploads.store(request.caller, request.params["ticket"], sent.read())
    return json_response({"storageId": request.params["ticket"]})


async def publish(request: RegistryRequest) -> HttpResponse:
    wanted = await read_json(request, ReleaseUpload)
    request.registry.publisher.namespace(request.caller, wanted.ownerHandle)
    if not wanted.files or len(wanted.files) > _MOST_FILES:
        raise UsageError(f"a release must have 1 to {_MOST_FILES} files", hint="remove files that the skill does not need")
    tickets = [each.storageId for each in wanted.files]
    options = PublishRequest(namespace=wanted.ownerHandle, version=wanted.version)
    publisher, uploads = request.registry.publisher, request.registry.uploads
    with publisher.turns.in_flight(request.caller):
        async with publisher.turns.turn(request.caller):
            data = await _packed(request, wanted.files, await uploads.digests(request.caller, tickets))
        done = await publisher.publish(request.caller, lambda: data, options, name=wanted.slug)
    await uploads.use(tickets)
    if done.package is None or done.release is None:
        raise AssertionError("a publish without dry_run returns a release")
    return json_response(
        {
            "ok": True,
            "skillId": str(done.package.id),
            "versionId": str(done.release.id),
            "status": _STATUS.get(done.release.state, "pending"),
            "publicationStatus": _STATUS.get(done.release.state, "pending"),
            "slug": done.package.name,
            "version": done.release.version,
        }
    )


async def _packed(request: RegistryRequest, files: list[UploadedFile], digests: list[str]) -> bytes:
    """Packs uploaded files. Their sizes are added up before the next one is read, so that memory stays bounded."""
    SKILL_LIMITS.check_total(sum(each.size for each in files))
    members: list[Member] = []
    total = 0
    for each, digest in zip(files, digests, strict=True):
        data = await request.registry.blobs.get(digest)
        total += len(data)
        SKILL_LIMITS.check_total(total)
        members.append(Member(each.path, data))
    return await asyncio.to_thread(lambda: pack(Contents(members)))


async def delete(request: RegistryRequest) -> HttpResponse:
    package = await request.registry.ownership.delete(request.caller, PackageKind.SKILL, request.params["slug"])
    until = request.registry.clock() + request.registry.options.reserved_days * 86_400_000
    return json_response({"ok": True, "slug": package.name, "slugReservedUntil": until})


async def undelete(request: RegistryRequest) -> HttpResponse:
    await request.registry.ownership.undelete(request.caller, PackageKind.SKILL, request.params["slug"])
    return json_response({"ok": True})


def fingerprint(release: Release) -> str:
    lines = sorted((row.path, row.sha256) for row in views.details(release).files)
    return hashlib.sha256("\n".join(f"{path}:{digest}" for path, digest in lines).encode()).hexdigest()


async def _package(request: RegistryRequest) -> Package:
    return await request.registry.queries.find_package(request.caller, PackageKind.SKILL, request.params["slug"])


def _check_may_upload(request: RegistryRequest) -> None:
    acting = request.caller.acts_for
    request.caller.require(acting is None or bool(acting), "upload files", scope="publish:NAMESPACE")


def _skill(package: Package) -> dict[str, Any]:  # Any: JSON of another project
    return {
        "slug": package.name, "displayName": package.name, "summary": package.description, "description": package.description,
        "topics": package.tags.split(), "tags": {"latest": package.latest} if package.latest else {},
        "stats": {"downloads": package.downloads},
        "createdAt": package.created, "updatedAt": package.updated,
    }  # fmt: skip


def _latest(package: Package) -> dict[str, Any]:  # Any: JSON of another project
    return {"version": package.version, "createdAt": package.updated, "changelog": "", "license": None}


def _version(release: Release) -> dict[str, Any]:  # Any: JSON of another project
    return {"version": release.version, "createdAt": release.published, "changelog": "", "license": None}


def _moderation(package: Package) -> dict[str, Any]:  # Any: JSON of another project
    return {
        "isSuspicious": package.verdict in (ScanStatus.REVIEW, ScanStatus.BLOCK),
        "isMalwareBlocked": package.verdict == ScanStatus.BLOCK,
        "verdict": _VERDICTS.get(ScanStatus(package.verdict), "clean"),
        "reasonCodes": [],
        "summary": None,
    }


def _route(method: str, path: str, endpoint: Any, summary: str, **more: Any) -> Route:  # Any: fields of Route
    return Route(method=method, path=f"/api/v1{path}", endpoint=endpoint, summary=summary, kind="plain",
                 **{"response_type": dict[str, Any], "rate": "read" if method == "GET" else "write", **more})  # fmt: skip


_DOWNLOAD = next(route for route in package_routes(PackageKind.SKILL) if route.path == "/skills/{name}/download")
_SLUG = QueryParameter("slug", "the skill's name")

ROUTES = (
    _route("GET", "/search", search, "Search skills.", query=(QueryParameter("q", "words"),)),
    _route("GET", "/skills", skills, "List skills."),
    _route("POST", "/skills", publish, "Publish uploaded files.", body=ReleaseUpload),
    _route("POST", "/skills/-/upload-url", upload_url, "Get the upload address of a file.", body=UploadRequest),
    _route("POST", "/uploads/{ticket}", upload, "Upload one file.", body=bytes),
    _route("GET", "/skills/{slug}", skill, "One skill."),
    _route("DELETE", "/skills/{slug}", delete, "Delete a skill."),
    _route("POST", "/skills/{slug}/undelete", undelete, "Undo a deletion."),
    _route("GET", "/skills/{slug}/moderation", moderation, "The scan verdict."),
    _route("GET", "/skills/{slug}/versions", versions, "List the versions."),
    _route("GET", "/skills/{slug}/versions/{version}", version, "One version."),
    _route(
        "GET",
        "/skills/{slug}/file",
        file,
        "One file.",
        response_type=bytes,
        query=(QueryParameter("path", "path of the file"),),
    ),
    _route("GET", "/skills/{slug}/install", install, "The archive to install."),
    _route("GET", "/download", download, "An archive.", response_type=bytes, rate="download", query=(_SLUG,)),
    _route("GET", "/resolve", resolve, "Which version has these files?", query=(_SLUG, QueryParameter("hash", "of its files"))),
    _route("GET", "/whoami", whoami, "Whose token this is."),
)
