"""Pages to find skills on: home, results, an owner's, and the API's."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from metier.errors import NotFoundError
from metier.registry.domain.queries import ListQuery
from metier.registry.domain.records import PackageFilters, PackageKind, Sort
from metier.registry.server.packages import list_query
from metier.registry.server.responses import HttpResponse
from metier.registry.server.routing import RegistryRequest

from .templates import render_page

__all__ = ["docs", "home", "owner", "search"]

_FILTERS = ("q", "sort", "tag", "owner", "license", "verdict")
_SHOWN_AT_HOME = 6


async def home(call: RegistryRequest) -> HttpResponse:
    reading = call.registry.reading
    trending = await reading.trending(call.caller, limit=_SHOWN_AT_HOME)
    newest = await reading.find(call.caller, ListQuery(sort=Sort.UPDATED, limit=_SHOWN_AT_HOME))
    return render_page(call, "home.html", trending=[card for card, _ in trending], newest=newest.cards)


async def search(call: RegistryRequest) -> HttpResponse:
    """Results; only their list when a page asks for it while somebody types."""
    asked = {name: call.query_params.get(name, "").strip() for name in _FILTERS}
    found = await call.registry.reading.find(call.caller, replace(list_query(call, PackageKind.SKILL), limit=20))
    template = "results.html" if call.headers.get("hx-request") else "search.html"
    further = _next(call, found.next)
    return render_page(call, template, cards=found.cards, corrected=found.corrected or {}, next=further, asked=asked)


async def owner(call: RegistryRequest) -> HttpResponse:
    namespace = call.params["namespace"]
    wish = ListQuery(filters=PackageFilters(owner=namespace), sort=Sort.NAME, cursor=call.query_params.get("cursor", ""))
    found = await call.registry.reading.find(call.caller, wish)
    if not found.cards:
        raise NotFoundError(f"{namespace[:80]!r} has published nothing that you may see", hint="search for a skill instead")
    keys = [key for key in await call.registry.store.keys(namespace) if key.revoked is None]
    return render_page(call, "owner.html", namespace=namespace, cards=found.cards, next=_next(call, found.next), keys=keys)


async def docs(call: RegistryRequest) -> HttpResponse:
    routes = [route for route in call.scope["metier.app"].routes.all if route.kind == "api"]
    return render_page(call, "docs.html", routes=sorted(routes, key=lambda route: (route.path, route.method)))


def _next(call: RegistryRequest, cursor: str | None) -> str | None:
    if cursor is None:
        return None
    asked = {name: value for name, value in call.query_params.items() if value and name != "cursor"}
    return f"{call.scope['path']}?{urlencode({**asked, 'cursor': cursor})}"
