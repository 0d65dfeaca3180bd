"""API routes for drafts, reviews and the settings of a namespace."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from metier.registry import wire
from metier.registry.domain.records import PackageKind
from metier.registry.domain.review_checks import ReviewChecks, check_for_review, read_checks
from metier.registry.domain.reviews import WaitingRelease

from . import views
from .responses import Headers, HttpResponse, json_response
from .routing import Endpoint, QueryParameter, RegistryRequest, Route
from .uploads import read_json

__all__ = ["NAMESPACE_ROUTES", "review_checks", "review_routes"]

_NO_STORE: Headers = ((b"cache-control", b"no-store"),)
_PAGE = 100
_ZIP = b"application/zip"


class DecisionBody(Struct):
    digest: str
    """The digest of the files that the reviewer has read."""
    comment: str = ""


class ReviewState(Struct):
    state: str


class NamespaceSettings(Struct):
    review: bool
    """Uploads wait for a review."""


async def review_checks(request: RegistryRequest, waiting: WaitingRelease) -> ReviewChecks:
    """Returns lint and capabilities of a release that waits, made once for each pair of archives."""
    queries, old = request.registry.queries, waiting.current

    async def load() -> tuple[bytes, bytes | None]:
        return await queries.archive(waiting.release.archive), await queries.archive(old.archive) if old else None

    key = f"review {waiting.release.archive} {old.archive if old else '-'}"
    return read_checks(await request.scope["metier.app"].documents.html(key, check_for_review, load))


async def reviews(request: RegistryRequest) -> HttpResponse:
    text = request.query_params.get("before", "")
    before = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
    rows = await request.registry.reviews.list(request.caller, before=before)
    listed = [views.review(package, release, request.base) for package, release in rows]
    return json_response(
        wire.ReviewList(reviews=listed, next=str(listed[-1].id) if len(rows) == _PAGE else None), headers=_NO_STORE
    )


async def quarantined(request: RegistryRequest) -> HttpResponse:
    rows = await request.registry.moderation.quarantined_versions(request.caller)
    listed = [views.review(package, release, request.base) for package, release in rows]
    return json_response(wire.ReviewList(reviews=listed), headers=_NO_STORE)


async def settings(request: RegistryRequest) -> HttpResponse:
    demanded = await request.registry.reviews.demands_review(request.caller, request.params["namespace"])
    return json_response(NamespaceSettings(demanded), headers=_NO_STORE)


async def set_settings(request: RegistryRequest) -> HttpResponse:
    wanted = await read_json(request, NamespaceSettings)
    namespace = request.params["namespace"]
    await request.registry.reviews.set_demands_review(request.caller, namespace, demanded=wanted.review)
    demanded = await request.registry.reviews.demands_review(request.caller, namespace)
    return json_response(NamespaceSettings(demanded), headers=_NO_STORE)


def review_routes(kind: PackageKind) -> tuple[Route, ...]:
    one = _Reviews(kind)
    path = f"/{kind}s/{{name}}/versions/{{version}}/review"

    def change(method: str, end: str, endpoint: Endpoint, summary: str, *, auth: str, **more: Any) -> Route:
        # Any: other fields of Route
        options = {"response_type": ReviewState, "rate": "write", **more}
        return Route(method=method, path=f"{path}{end}", endpoint=endpoint, summary=summary, auth=auth, **options)

    return (
        Route(
            method="GET", path=path, endpoint=one.show, response_type=wire.ReviewDetails, auth="review:NAMESPACE",
            summary="A version that is not online, with what a reviewer looks at.",
        ),
        Route(
            method="GET", path=f"{path}/archive", endpoint=one.archive, response_type=bytes, auth="review:NAMESPACE",
            rate="download", summary="Its archive (zip), for members of the namespace.",
        ),
        change("POST", "/submit", one.submit, "Submit a draft.", auth="publish:NAMESPACE"),
        change("POST", "/approve", one.approve, "Put it online.", auth="review:NAMESPACE", body=DecisionBody),
        change("POST", "/return", one.send_back, "Return it with a comment.", auth="review:NAMESPACE", body=DecisionBody),
        change("DELETE", "", one.withdraw, "Delete a draft or a version in review.", auth="publish:NAMESPACE"),
    )  # fmt: skip


class _Reviews:
    def __init__(self, kind: PackageKind) -> None:
        self.kind = kind

    async def show(self, request: RegistryRequest) -> HttpResponse:
        waiting = await self._find(request)
        checks = await review_checks(request, waiting)
        package, release, current = waiting.package, waiting.release, waiting.current
        files = views.details(release).files
        steps = [
            wire.ReviewStep(at=views.iso(event.at), actor=event.actor, action=event.action, details=event.details)
            for event in waiting.history
        ]
        details = wire.ReviewDetails(
            review=views.review(package, release, request.base),
            version=views.version(package, release, request.base, full=True),
            lint=checks.lint,
            capabilities=checks.capabilities,
            new_capabilities=checks.new_capabilities,
            changed_files=views.differing_paths(views.details(current).files if current else [], files),
            history=steps,
        )
        return json_response(details, headers=_NO_STORE)

    async def archive(self, request: RegistryRequest) -> HttpResponse:
        waiting = await self._find(request)
        data = await request.registry.queries.archive(waiting.release.archive)
        return HttpResponse(data, content_type=_ZIP, headers=((b"content-disposition", b"attachment"), *_NO_STORE))

    async def submit(self, request: RegistryRequest) -> HttpResponse:
        return json_response(ReviewState(await request.registry.reviews.submit(request.caller, self.kind, *_named(request))))

    async def approve(self, request: RegistryRequest) -> HttpResponse:
        wanted = await read_json(request, DecisionBody)
        await request.registry.reviews.approve(
            request.caller, self.kind, *_named(request), digest=wanted.digest, comment=wanted.comment
        )
        return json_response(ReviewState("online"))

    async def send_back(self, request: RegistryRequest) -> HttpResponse:
        wanted = await read_json(request, DecisionBody)
        await request.registry.reviews.return_to_draft(
            request.caller, self.kind, *_named(request), digest=wanted.digest, comment=wanted.comment
        )
        return json_response(ReviewState("draft"))

    async def withdraw(self, request: RegistryRequest) -> HttpResponse:
        await request.registry.reviews.withdraw(request.caller, self.kind, *_named(request))
        return json_response(ReviewState("deleted"))

    async def _find(self, request: RegistryRequest) -> WaitingRelease:
        return await request.registry.reviews.find(request.caller, self.kind, *_named(request))


def _named(request: RegistryRequest) -> tuple[str, str]:
    return request.params["name"], request.params["version"]


NAMESPACE_ROUTES = (
    Route(
        method="GET",
        path="/quarantine",
        endpoint=quarantined,
        response_type=wire.ReviewList,
        auth="admin",
        summary="List the quarantined versions.",
    ),
    Route(
        method="GET", path="/reviews", endpoint=reviews, response_type=wire.ReviewList, auth="review:NAMESPACE",
        summary="List the drafts and reviews of your namespaces.",
        query=(QueryParameter("before", "only entries with a smaller number", {"type": "integer", "minimum": 1}),),
    ),
    Route(
        method="GET", path="/namespaces/{namespace}/settings", endpoint=settings, response_type=NamespaceSettings,
        auth="review:NAMESPACE", summary="The settings of a namespace.",
    ),
    Route(
        method="PUT", path="/namespaces/{namespace}/settings", endpoint=set_settings, response_type=NamespaceSettings,
        body=NamespaceSettings, rate="write", auth="review:NAMESPACE", summary="Say whether uploads wait for a review.",
    ),
)  # fmt: skip
