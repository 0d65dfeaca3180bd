"""API routes for skills and agents, at /skills and /agents."""

from __future__ import annotations

import base64
from functools import lru_cache
from typing import NamedTuple

from starlette.types import ASGIApp

from metier.errors import NotFoundError, UsageError
from metier.registry.blobs import LARGEST_CACHED
from metier.registry.domain.publish import PublishRequest
from metier.registry.domain.queries import MAX_PAGE, ListQuery
from metier.registry.domain.records import Package, PackageFilters, PackageKind, PackageVisibility, Sort
from metier.registry.wire import DownloadStats, PublishReceipt, ReleaseFinding, SkillPage, SkillSummary, VersionList, VersionRow

from . import views
from .markdown import skill_html
from .responses import Headers, HttpResponse, StreamedResponse, json_response, text_response
from .routing import QueryParameter, RegistryRequest, Route
from .uploads import receive_archive
from .views import badge_svg, chart_svg

__all__ = ["archive_cache", "list_query", "package_routes"]

_NUMBER = {"type": "integer", "minimum": 1}
_VERSION = QueryParameter("version", "an exact version, a tag such as beta, or a range; default: the newest")
_LIST = (
    QueryParameter("q", "words to search for"),
    QueryParameter("tag", "only skills with this tag"),
    QueryParameter("owner", "only skills of this namespace"),
    QueryParameter("license", "only skills with this licence"),
    QueryParameter("verdict", "only skills with this scan verdict"),
    QueryParameter("sort", "sort order", {"type": "string", "enum": [str(each) for each in Sort]}),
    QueryParameter("cursor", "`next` of the previous page"),
    QueryParameter("limit", "maximum number of results", {**_NUMBER, "maximum": MAX_PAGE}),
)
_PUBLISH = (
    QueryParameter("namespace", "namespace to publish in; default: the token's own"),
    QueryParameter(
        "visibility",
        "visibility; new packages are private by default",
        {"type": "string", "enum": [str(each) for each in PackageVisibility]},
    ),
    QueryParameter("version", "overrides metadata.version"),
    QueryParameter("draft", "keep it as a draft until it is submitted", {"type": "string", "enum": ["1", "0"]}),
    QueryParameter(
        "dry_run", "check the package and list its files, but publish nothing", {"type": "string", "enum": ["1", "0"]}
    ),
)
_MOST_DAYS = 365
_ZIP = b"application/zip"
_SANDBOXED = (b"content-security-policy", b"default-src 'none'; sandbox")
_PUBLIC: Headers = ((b"cache-control", b"public, max-age=300, must-revalidate"),)
_PRIVATE: Headers = ((b"cache-control", b"private, no-cache"), (b"vary", b"authorization, cookie"))


def archive_cache(package: Package) -> Headers:
    """Returns the cache headers of the archive of one version.

    Its bytes never change, but it may become private, quarantined or deleted: a cache keeps a public one for five minutes and
    then asks again with its ETag, which costs no archive. A private one is asked for each time.
    """
    return _PUBLIC if package.visibility == PackageVisibility.PUBLIC else _PRIVATE


def package_routes(kind: PackageKind) -> tuple[Route, ...]:
    one = _Packages(kind)
    root = f"/{kind}s"
    name = f"{root}/{{name}}"
    return (
        Route(method="GET", path=name, endpoint=one.show, summary=f"One {kind}.", response_type=SkillSummary),
        Route(
            method="GET",
            path=f"{name}/download",
            endpoint=one.download,
            rate="download",
            query=(_VERSION,),
            summary="Download the archive (zip).",
            response_type=bytes,
        ),
        Route(
            method="GET",
            path=f"{name}/{{archive}}",
            endpoint=one.archive,
            rate="download",
            summary="Download one version as VERSION.zip.",
            response_type=bytes,
        ),
        Route(
            method="GET",
            path=root,
            endpoint=one.list,
            is_kept=True,
            query=_LIST,
            summary=f"List and search {kind}s.",
            response_type=SkillPage,
        ),
        Route(
            method="POST",
            path=root,
            endpoint=one.publish,
            rate="write",
            query=_PUBLISH,
            response_type=PublishReceipt,
            body=bytes,
            summary="Publish a zip or tar.gz, sent as the body or as a form file.",
            status=201,
            auth="publish:NAMESPACE",
        ),
        Route(
            method="GET",
            path=f"{name}/versions",
            endpoint=one.versions,
            is_kept=True,
            subject=kind,
            summary="List all versions.",
            response_type=VersionList,
        ),
        Route(
            method="GET",
            path=f"{name}/versions/{{version}}",
            endpoint=one.version,
            is_kept=True,
            subject=kind,
            summary="One version with its files, findings and signatures.",
            response_type=VersionRow,
        ),
        Route(
            method="GET",
            path=f"{name}/files/{{path...}}",
            endpoint=one.file,
            query=(_VERSION,),
            response_type=bytes,
            summary="One file of a version.",
        ),
        Route(
            method="GET",
            path=f"{name}/readme",
            endpoint=one.readme,
            query=(_VERSION,),
            response_type=str,
            summary="SKILL.md as safe HTML.",
        ),
        Route(
            method="GET",
            path=f"{name}/scan",
            endpoint=one.scan,
            query=(_VERSION,),
            response_type=list[ReleaseFinding],
            summary="Findings of the security scan.",
        ),
        Route(
            method="GET",
            path=f"{name}/stats",
            endpoint=one.stats,
            response_type=DownloadStats,
            summary="Downloads per day.",
            query=(QueryParameter("days", "number of days", {**_NUMBER, "maximum": _MOST_DAYS}),),
        ),
        Route(
            method="GET",
            path=f"{name}/badge.svg",
            endpoint=one.badge,
            response_type=str,
            summary="A badge with the version or the downloads.",
            query=(QueryParameter("show", "value to show", {"type": "string", "enum": ["version", "downloads"]}),),
        ),
        Route(
            method="GET",
            path=f"{name}/chart.svg",
            endpoint=one.chart,
            response_type=str,
            summary="A chart of downloads.",
            query=(QueryParameter("days", "number of days", {**_NUMBER, "maximum": _MOST_DAYS}),),
        ),
    )


def list_query(request: RegistryRequest, kind: PackageKind) -> ListQuery:
    """Reads a list query from the query string."""
    parameters = request.query_params
    sort = parameters.get("sort", "")
    if sort and sort not in tuple(Sort):
        raise UsageError(f"unknown sort order {sort[:40]!r}", hint=f"use one of {', '.join(Sort)}")
    return ListQuery(
        query=parameters.get("q", ""),
        filters=PackageFilters(
            kind=kind, tag=parameters.get("tag", ""), owner=parameters.get("owner", ""), license=parameters.get("license", ""),
            verdict=parameters.get("verdict", ""),
        ),
        sort=Sort(sort) if sort else None,
        cursor=parameters.get("cursor", ""),
        limit=int_parameter(request, "limit", 20, MAX_PAGE),
    )  # fmt: skip


def int_parameter(request: RegistryRequest, name: str, default: int, most: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise UsageError(f"invalid {name} {text[:20]!r}", hint=f"use a number from 1 to {most:,}")
    return int(text)


class _Archive(NamedTuple):
    version: str
    digest: str
    size: int


class _Packages:
    def __init__(self, kind: PackageKind) -> None:
        self.kind = kind

    async def show(self, request: RegistryRequest) -> HttpResponse:
        package = await request.registry.queries.find_package(request.caller, self.kind, request.params["name"])
        return json_response(views.skill(package, request.base))

    async def list(self, request: RegistryRequest) -> HttpResponse:
        found = await request.registry.queries.find(request.caller, list_query(request, self.kind))
        skills = [views.skill(package, request.base) for package in found.packages]
        return json_response(SkillPage(skills=skills, next=found.next, corrected=found.corrected or {}))

    async def download(self, request: RegistryRequest) -> HttpResponse:
        version = request.query_params.get("version", "") if request.scope["query_string"] else ""
        if not version:
            package = await request.registry.queries.find_package(request.caller, self.kind, request.params["name"])
            if package.latest:
                return await self._send(request, package, _Archive(package.version, package.archive, package.size), _PRIVATE)
        package, release = await request.registry.queries.release(request.caller, self.kind, request.params["name"], version)
        return await self._send(request, package, _Archive(release.version, release.archive, release.size), _PRIVATE)

    async def archive(self, request: RegistryRequest) -> HttpResponse:
        version = request.params["archive"].removesuffix(".zip")
        if version == request.params["archive"]:
            raise NotFoundError(f"there is nothing at {request.scope['path'][:200]!r}", hint="an archive is called VERSION.zip")
        queries, name = request.registry.queries, request.params["name"]
        package = await queries.find_package(request.caller, self.kind, name)
        if version == package.version:
            # The row of the package has all that the newest version needs.
            found = _Archive(version, package.archive, package.size)
        else:
            package, release = await queries.release(request.caller, self.kind, name, version)
            if release.version != version:
                raise NotFoundError(f"{package.name} has no version {version[:80]!r}", hint="write the version whole")
            found = _Archive(version, release.archive, release.size)
        return await self._send(request, package, found, archive_cache(package))

    async def _send(self, request: RegistryRequest, package: Package, found: _Archive, cache: Headers) -> HttpResponse:
        registry, archive = request.registry, found.digest
        filename, headers = _archive_headers(package.name, found.version, archive)
        link = None if registry.options.proxy_blobs else await registry.queries.link(archive, filename=filename)
        if request.scope["method"] == "GET":
            registry.downloads.count(package.id, found.version, request.caller)
        if link:
            return HttpResponse(b"", content_type=b"text/plain", status=302, headers=((b"location", link.encode()), *_PRIVATE))
        tag, headers = b'"%s"' % archive.encode(), (*cache, *headers)
        if found.size > LARGEST_CACHED:
            pieces = registry.queries.archive_chunks(archive)
            return await StreamedResponse(pieces, found.size, content_type=_ZIP, tag=tag, headers=headers).start()
        return HttpResponse(await registry.queries.archive(archive), content_type=_ZIP, tag=tag, headers=headers)

    async def publish(self, request: RegistryRequest) -> HttpResponse:
        parameters = request.query_params
        visibility = parameters.get("visibility", "")
        if visibility and visibility not in tuple(PackageVisibility):
            raise UsageError(f"unknown visibility {visibility[:40]!r}", hint="use private or public")
        registry = request.registry
        # Checked before the upload is read, so that a refused caller does not send the archive.
        registry.publisher.namespace(request.caller, parameters.get("namespace", ""))
        async with receive_archive(request, limit=registry.options.upload_bytes) as upload:
            intent = PublishRequest(
                kind=self.kind,
                namespace=parameters.get("namespace", "") or upload.fields.get("namespace", ""),
                visibility=PackageVisibility(visibility) if visibility else None,
                version=parameters.get("version") or upload.fields.get("version") or None,
                dry_run=parameters.get("dry_run", "0") not in ("0", "", "false"),
                as_draft=parameters.get("draft", "0") not in ("0", "", "false"),
            )
            done = await registry.publisher.publish(request.caller, upload.read, intent)
        status = 201 if done.created and not done.dry_run else 200
        return json_response(views.publish_receipt(done, request.base), status=status, headers=_PRIVATE)

    async def versions(self, request: RegistryRequest) -> HttpResponse:
        package, releases, tags = await request.registry.queries.releases(request.caller, self.kind, request.params["name"])
        rows = [views.version(package, release, request.base) for release in releases]
        return json_response(VersionList(name=package.name, versions=rows, tags=tags))

    async def version(self, request: RegistryRequest) -> HttpResponse:
        queries = request.registry.queries
        package, release = await queries.release(request.caller, self.kind, request.params["name"], request.params["version"])
        signatures = await queries.signatures(package)
        return json_response(views.version(package, release, request.base, full=True, signatures=signatures))

    async def file(self, request: RegistryRequest) -> HttpResponse:
        version = request.query_params.get("version", "")
        release, data = await request.registry.queries.file(
            request.caller, self.kind, request.params["name"], request.params["path"], version
        )
        # Never what an author says it is: a browser shows text, and runs nothing.
        return HttpResponse(
            data, content_type=b"text/plain; charset=utf-8", tag=b'"%s-%d"' % (release.archive.encode(), len(data)),
            headers=(*_PRIVATE, (b"content-disposition", b"attachment"), _SANDBOXED),
        )  # fmt: skip

    async def readme(self, request: RegistryRequest) -> HttpResponse:
        queries = request.registry.queries
        _, release = await queries.release(
            request.caller, self.kind, request.params["name"], request.query_params.get("version", "")
        )
        documents = request.scope["metier.app"].documents
        key = f"{self.kind} {release.archive}"
        html = await documents.readme(key, skill_html, lambda: queries.text(self.kind, release))
        return text_response(html, content_type=b"text/html; charset=utf-8", headers=(*_PRIVATE, _SANDBOXED))

    async def scan(self, request: RegistryRequest) -> HttpResponse:
        name, version = request.params["name"], request.query_params.get("version", "")
        package, release = await request.registry.queries.release(request.caller, self.kind, name, version)
        return json_response(views.version(package, release, request.base, full=True).findings)

    async def stats(self, request: RegistryRequest) -> HttpResponse:
        package = await request.registry.queries.find_package(request.caller, self.kind, request.params["name"])
        days = await request.registry.queries.days(package, days=int_parameter(request, "days", 30, _MOST_DAYS))
        return json_response(DownloadStats(name=package.name, downloads=package.downloads, days=days))

    async def badge(self, request: RegistryRequest) -> ASGIApp:
        package = await request.registry.queries.find_package(request.caller, self.kind, request.params["name"])
        shown = f"{package.downloads:,}" if request.query_params.get("show") == "downloads" else package.version or "yanked"
        label = "downloads" if request.query_params.get("show") == "downloads" else package.name
        return _svg(badge_svg(label, shown))

    async def chart(self, request: RegistryRequest) -> ASGIApp:
        package = await request.registry.queries.find_package(request.caller, self.kind, request.params["name"])
        days = await request.registry.queries.days(package, days=int_parameter(request, "days", 90, _MOST_DAYS))
        return _svg(chart_svg(days, title=package.name))


def _svg(text: str) -> HttpResponse:
    return text_response(text, content_type=b"image/svg+xml", headers=(
        (b"cache-control", b"max-age=300"), (b"vary", b"authorization, cookie"),
        (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'"),
    ))  # fmt: skip


@lru_cache(maxsize=4096)
def _archive_headers(name: str, version: str, archive: str) -> tuple[str, Headers]:
    """Returns the file name of an archive, and its headers with that name and the digest."""
    filename = f"{name}-{version}.zip"
    return filename, (
        (b"content-disposition", b'attachment; filename="%s"' % filename.encode()),
        (b"repr-digest", b"sha-256=:%s:" % base64.b64encode(bytes.fromhex(archive))),
    )
