"""Pages to find skills on: home, results, an owner's, and the API's."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from metier.errors import NotFoundError
from metier.registry.model import Filters, Kind, Sort
from metier.registry.reading import Wish
from metier.registry.server.answers import Answer
from metier.registry.server.packages import wish_of
from metier.registry.server.routing import Call

from .looks import page

__all__ = ["docs", "home", "owner", "search"]

_FILTERS = ("q", "sort", "tag", "owner", "license", "verdict")
_SHOWN_AT_HOME = 6


async def home(call: Call) -> Answer:
    reading = call.registry.reading
    trending = await reading.trending(call.caller, limit=_SHOWN_AT_HOME)
    newest = await reading.find(call.caller, Wish(sort=Sort.UPDATED, limit=_SHOWN_AT_HOME))
    return page(call, "home.html", trending=[card for card, _ in trending], newest=newest.cards)


async def search(call: Call) -> Answer:
    """Results; only their list when a page asks for it while somebody types."""
    asked = {name: call.query_params.get(name, "").strip() for name in _FILTERS}
    found = await call.registry.reading.find(call.caller, replace(wish_of(call, Kind.SKILL), limit=20))
    template = "results.html" if call.headers.get("hx-request") else "search.html"
    further = _next(call, found.next)
    return page(call, template, cards=found.cards, corrected=found.corrected or {}, next=further, asked=asked)


async def owner(call: Call) -> Answer:
    namespace = call.params["namespace"]
    wish = Wish(filters=Filters(owner=namespace), sort=Sort.NAME, cursor=call.query_params.get("cursor", ""))
    found = await call.registry.reading.find(call.caller, wish)
    if not found.cards:
        raise NotFoundError(f"{namespace[:80]!r} has published nothing that you may see", hint="search for a skill instead")
    keys = [key for key in await call.registry.store.keys(namespace) if key.revoked is None]
    return page(call, "owner.html", namespace=namespace, cards=found.cards, next=_next(call, found.next), keys=keys)


async def docs(call: Call) -> Answer:
    routes = [route for route in call.scope["metier.app"].routes.all if route.kind == "api"]
    return page(call, "docs.html", routes=sorted(routes, key=lambda route: (route.path, route.method)))


def _next(call: Call, cursor: str | None) -> str | None:
    if cursor is None:
        return None
    asked = {name: value for name, value in call.query_params.items() if value and name != "cursor"}
    return f"{call.scope['path']}?{urlencode({**asked, 'cursor': cursor})}"
