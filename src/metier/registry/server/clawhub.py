"""The part of the ClawHub API that its client uses: search, inspect, install, update, publish, delete.

Names and shapes are theirs. Errors are plain text, because their client prints what it gets.
"""

from __future__ import annotations

import hashlib
from typing import Any

from msgspec import Struct, field
from starlette.types import ASGIApp

from metier.archive import Contents, Member, pack
from metier.errors import UsageError
from metier.registry.domain.publish import PublishRequest
from metier.registry.domain.queries import ListQuery
from metier.registry.domain.records import Package, PackageFilters, PackageKind, Release, ScanStatus, Sort

from . import views as presenting
from .packages import int_parameter, package_routes
from .responses import HttpResponse, json_response
from .routing import QueryParameter, RegistryRequest, Route
from .uploads import read_archive, read_json

__all__ = ["ROUTES"]

_SORTS = {"downloads": Sort.DOWNLOADS, "updated": Sort.UPDATED, "newest": Sort.UPDATED, "trending": Sort.DOWNLOADS}
_MOST_FILES = 500
_VERDICTS = {ScanStatus.REVIEW: "suspicious", ScanStatus.BLOCK: "malicious"}


class UploadRequest(Struct):
    path: str
    size: int
    sha256: str
    contentType: str = ""  # noqa: N815  (their names)


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


async def search(call: RegistryRequest) -> HttpResponse:
    limit = min(int_parameter(call, "limit", 20, 1000), 100)
    found = await call.registry.reading.find(call.caller, ListQuery(query=call.query_params.get("q", ""), limit=limit))
    results = [{"slug": card.name, "displayName": card.name, "summary": card.description, "version": card.version,
                "score": round(1 - place / 1000, 4), "downloads": card.downloads, "updatedAt": card.updated,
                "ownerHandle": card.namespace, "owner": {"handle": card.namespace}}
               for place, card in enumerate(found.cards)]  # fmt: skip
    return json_response({"results": results})


async def skills(call: RegistryRequest) -> HttpResponse:
    sort = _SORTS.get(call.query_params.get("sort", ""), Sort.UPDATED)
    wish = ListQuery(filters=PackageFilters(kind=PackageKind.SKILL), sort=sort, cursor=call.query_params.get("cursor", ""),
                limit=min(int_parameter(call, "limit", 25, 1000), 100))  # fmt: skip
    found = await call.registry.reading.find(call.caller, wish)
    items = [{**_skill(card), "latestVersion": _latest(card)} for card in found.cards]
    return json_response({"items": items, "nextCursor": found.next})


async def skill(call: RegistryRequest) -> HttpResponse:
    card = await _card(call)
    return json_response({
        "skill": _skill(card), "latestVersion": _latest(card) if card.version else None, "metadata": None,
        "owner": {"handle": card.namespace, "displayName": card.namespace, "image": None}, "moderation": _moderation(card),
    })  # fmt: skip


async def moderation(call: RegistryRequest) -> HttpResponse:
    return json_response({"moderation": _moderation(await _card(call))})


async def versions(call: RegistryRequest) -> HttpResponse:
    _, releases, _ = await call.registry.reading.releases(call.caller, PackageKind.SKILL, call.params["slug"])
    return json_response({"items": [_version(release) for release in releases if not release.yanked], "nextCursor": None})


async def version(call: RegistryRequest) -> HttpResponse:
    card, release = await call.registry.reading.release(
        call.caller, PackageKind.SKILL, call.params["slug"], call.params["version"]
    )
    files = [{"path": row.path, "size": row.size, "sha256": row.sha256} for row in presenting.details(release).files]
    return json_response(
        {"version": {**_version(release), "files": files}, "skill": {"slug": card.name, "displayName": card.name}}
    )


async def file(call: RegistryRequest) -> HttpResponse:
    asked = call.query_params
    wanted = asked.get("version") or asked.get("tag") or ""
    _, data = await call.registry.reading.file(
        call.caller, PackageKind.SKILL, call.params["slug"], asked.get("path", ""), wanted
    )
    return HttpResponse(data, type=b"text/plain; charset=utf-8")


async def install(call: RegistryRequest) -> HttpResponse:
    card, release = await call.registry.reading.release(call.caller, PackageKind.SKILL, call.params["slug"])
    link = f"{call.base}/skills/{card.name}/{release.version}.zip"
    return json_response({"ok": True, "slug": card.name, "installKind": "archive",
                        "archive": {"version": release.version, "downloadUrl": link}})  # fmt: skip


async def download(call: RegistryRequest) -> ASGIApp:
    call.params["name"] = call.query_params.get("slug", "")
    return await _DOWNLOAD.endpoint(call)


async def resolve(call: RegistryRequest) -> HttpResponse:
    """Which version has exactly these files? Their hash is over `path:sha256` lines."""
    slug, wanted = call.query_params.get("slug", ""), call.query_params.get("hash", "")
    card, releases, _ = await call.registry.reading.releases(call.caller, PackageKind.SKILL, slug)
    match = next((release.version for release in releases if fingerprint(release) == wanted), None)
    return json_response({"match": {"version": match} if match else None,
                        "latestVersion": {"version": card.version} if card.version else None})  # fmt: skip


async def whoami(call: RegistryRequest) -> HttpResponse:
    call.caller.need(True, "ask who you are", scope="read")
    role = "admin" if call.caller.is_admin else "user"
    return json_response({"user": {"handle": call.caller.name, "displayName": call.caller.name, "image": None, "role": role}})


async def upload_url(call: RegistryRequest) -> HttpResponse:
    """Each file comes by itself before the release that names it; what no release names is collected later."""
    _may_upload(call)
    wanted = await read_json(call, UploadRequest)
    if len(wanted.sha256) != 64:
        raise UsageError("sha256 is not a hash", hint="write 64 hex digits")
    return json_response({"uploadUrl": f"{call.base}/api/v1/uploads/{wanted.sha256}", "uploadTicket": wanted.sha256})


async def upload(call: RegistryRequest) -> HttpResponse:
    _may_upload(call)
    data, _ = await read_archive(call, limit=call.registry.options.upload_bytes, what="the file", empty=True)
    name = hashlib.sha256(data).hexdigest()
    if name != call.params["sha256"]:
        raise UsageError("these bytes are not those that were announced", hint="send the file again")
    await call.registry.publishing.keep(name, data)
    return json_response({"storageId": name})


async def publish(call: RegistryRequest) -> HttpResponse:
    wanted = await read_json(call, ReleaseUpload)
    call.registry.publishing.namespace(call.caller, wanted.ownerHandle)
    if not wanted.files or len(wanted.files) > _MOST_FILES:
        raise UsageError(f"a release has from 1 to {_MOST_FILES} files", hint="leave out what the skill does not need")
    members = [Member(each.path, await call.registry.publishing.kept(each.storageId)) for each in wanted.files]
    data = pack(Contents(members))
    done = await call.registry.publishing.publish(
        call.caller, data, PublishRequest(namespace=wanted.ownerHandle, version=wanted.version), name=wanted.slug
    )
    if done.card is None or done.release is None:
        raise AssertionError("only a dry run has no release")
    return json_response({"ok": True, "skillId": str(done.card.id), "versionId": str(done.release.id), "status": "published",
                        "publicationStatus": "published", "slug": done.card.name, "version": done.release.version})  # fmt: skip


async def delete(call: RegistryRequest) -> HttpResponse:
    card = await call.registry.owning.delete(call.caller, PackageKind.SKILL, call.params["slug"])
    until = call.registry.clock() + call.registry.options.reserved_days * 86_400_000
    return json_response({"ok": True, "slug": card.name, "slugReservedUntil": until})


async def undelete(call: RegistryRequest) -> HttpResponse:
    await call.registry.owning.undelete(call.caller, PackageKind.SKILL, call.params["slug"])
    return json_response({"ok": True})


def fingerprint(release: Release) -> str:
    lines = sorted((row.path, row.sha256) for row in presenting.details(release).files)
    return hashlib.sha256("\n".join(f"{path}:{digest}" for path, digest in lines).encode()).hexdigest()


async def _card(call: RegistryRequest) -> Package:
    return await call.registry.reading.card(call.caller, PackageKind.SKILL, call.params["slug"])


def _may_upload(call: RegistryRequest) -> None:
    acting = call.caller.acts_for
    call.caller.need(acting is None or bool(acting), "upload files", scope="publish:NAMESPACE")


def _skill(card: Package) -> dict[str, Any]:  # Any: JSON of another project
    return {
        "slug": card.name, "displayName": card.name, "summary": card.description, "description": card.description,
        "topics": card.tags.split(), "tags": {"latest": card.version}, "stats": {"downloads": card.downloads},
        "createdAt": card.created, "updatedAt": card.updated,
    }  # fmt: skip


def _latest(card: Package) -> dict[str, Any]:  # Any: JSON of another project
    return {"version": card.version, "createdAt": card.updated, "changelog": "", "license": None}


def _version(release: Release) -> dict[str, Any]:  # Any: JSON of another project
    return {"version": release.version, "createdAt": release.published, "changelog": "", "license": None}


def _moderation(card: Package) -> dict[str, Any]:  # Any: JSON of another project
    return {
        "isSuspicious": card.verdict in (ScanStatus.REVIEW, ScanStatus.BLOCK), "isMalwareBlocked": card.verdict == ScanStatus.BLOCK,
        "verdict": _VERDICTS.get(ScanStatus(card.verdict), "clean"), "reasonCodes": [], "summary": None,
    }  # fmt: skip


def _route(method: str, path: str, endpoint: Any, about: str, **more: Any) -> Route:  # Any: fields of Route
    return Route(method=method, path=f"/api/v1{path}", endpoint=endpoint, about=about, kind="plain",
                 **{"answers": dict[str, Any], "rate": "read" if method == "GET" else "write", **more})  # fmt: skip


_DOWNLOAD = next(route for route in package_routes(PackageKind.SKILL) if route.path == "/skills/{name}/download")
_SLUG = QueryParameter("slug", "the skill's name")

ROUTES = (
    _route("GET", "/search", search, "Search.", query=(QueryParameter("q", "words"),)),
    _route("GET", "/skills", skills, "List."),
    _route("POST", "/skills", publish, "Publish files that were uploaded.", body=ReleaseUpload),
    _route("POST", "/skills/-/upload-url", upload_url, "Where to upload one file.", body=UploadRequest),
    _route("POST", "/uploads/{sha256}", upload, "One file.", body=bytes),
    _route("GET", "/skills/{slug}", skill, "One skill."),
    _route("DELETE", "/skills/{slug}", delete, "Delete it."),
    _route("POST", "/skills/{slug}/undelete", undelete, "Take a deletion back."),
    _route("GET", "/skills/{slug}/moderation", moderation, "What the scan says."),
    _route("GET", "/skills/{slug}/versions", versions, "Its versions."),
    _route("GET", "/skills/{slug}/versions/{version}", version, "One version."),
    _route("GET", "/skills/{slug}/file", file, "One file.", answers=bytes, query=(QueryParameter("path", "which"),)),
    _route("GET", "/skills/{slug}/install", install, "What to install."),
    _route("GET", "/download", download, "An archive.", answers=bytes, rate="download", query=(_SLUG,)),
    _route("GET", "/resolve", resolve, "Which version has these files?", query=(_SLUG, QueryParameter("hash", "of its files"))),
    _route("GET", "/whoami", whoami, "Whose token this is."),
)
