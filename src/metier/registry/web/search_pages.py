"""The pages home, search, owner and API documentation."""

from __future__ import annotations

from urllib.parse import urlencode

from metier.errors import NotFoundError
from metier.registry.domain.access import Right
from metier.registry.domain.queries import ListQuery
from metier.registry.domain.records import PackageFilters, PackageKind, Sort
from metier.registry.server.packages import list_query
from metier.registry.server.responses import HttpResponse
from metier.registry.server.routing import RegistryRequest
from metier.values import replace

from .templates import render_page

__all__ = ["docs", "home", "owner", "search"]

_FILTERS = ("q", "sort", "tag", "owner", "license", "verdict")
_HOME_RESULTS = 6


async def home(request: RegistryRequest) -> HttpResponse:
    queries = request.registry.queries
    trending = await queries.trending(request.caller, limit=_HOME_RESULTS)
    newest = await queries.find(request.caller, ListQuery(sort=Sort.UPDATED, limit=_HOME_RESULTS))
    return render_page(
        request,
        "home.html",
        trending=[package for package, _ in trending],
        newest=newest.packages,
        welcome=request.registry.options.site.welcome,
    )


async def search(request: RegistryRequest) -> HttpResponse:
    """Shows the search page, or only the results for an htmx request."""
    parameters = {name: request.query_params.get(name, "").strip() for name in _FILTERS}
    found = await request.registry.queries.find(request.caller, replace(list_query(request, PackageKind.SKILL), limit=20))
    template = "results.html" if request.headers.get("hx-request") else "search.html"
    return render_page(
        request,
        template,
        packages=found.packages,
        corrected=found.corrected or {},
        next=_next(request, found.next),
        parameters=parameters,
    )


async def owner(request: RegistryRequest) -> HttpResponse:
    namespace = request.params["namespace"]
    query = ListQuery(filters=PackageFilters(owner=namespace), sort=Sort.NAME, cursor=request.query_params.get("cursor", ""))
    found = await request.registry.queries.find(request.caller, query)
    registry, is_member = request.registry, request.caller.is_member(namespace)
    if not found.packages and not is_member:
        raise NotFoundError(f"no skills of {namespace[:80]!r}", hint="search for a skill, or log in if it is private")
    keys = [key for key in await registry.store.keys(namespace) if key.revoked is None]
    review = await registry.reviews.demands_review(request.caller, namespace) if is_member else None
    return render_page(
        request, "owner.html", namespace=namespace, packages=found.packages, next=_next(request, found.next), keys=keys,
        shows_notes=request.caller.may(Right.MANAGE, namespace), review=review,
        may_review=request.caller.may(Right.REVIEW, namespace), is_fixed=registry.options.policy.review,
    )  # fmt: skip


async def docs(request: RegistryRequest) -> HttpResponse:
    routes = [route for route in request.scope["metier.app"].routes.all if route.kind == "api"]
    return render_page(request, "docs.html", routes=sorted(routes, key=lambda route: (route.path, route.method)))


def _next(request: RegistryRequest, cursor: str | None) -> str | None:
    if cursor is None:
        return None
    parameters = {name: value for name, value in request.query_params.items() if value and name != "cursor"}
    return f"{request.scope['path']}?{urlencode({**parameters, 'cursor': cursor})}"
