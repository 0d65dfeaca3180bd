"""Routes requests to endpoints by a tree of path parts, so that lookups do not depend on the number of routes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp

from metier.registry.domain.access import ANONYMOUS, Caller
from metier.registry.domain.registry import Registry
from metier.values import dataclass, field

__all__ = ["Endpoint", "QueryParameter", "RegistryRequest", "Route", "Routes"]


class RegistryRequest(Request):
    """A request with its caller and path parameters."""

    registry: Registry
    params: dict[str, str]
    caller: Caller = ANONYMOUS
    base: str
    """The address of the registry as the client used it."""


Endpoint = Callable[[RegistryRequest], Awaitable[ASGIApp]]


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A query parameter, for the OpenAPI description."""

    name: str
    description: str
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "string"})  # Any: JSON Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    method: str
    path: str
    """`/skills/{name}`; `{path...}` matches the rest of the path."""
    endpoint: Endpoint
    summary: str = ""
    is_kept: bool = False
    """Responses to callers without a token are kept until what they show changes; see `PageCache`."""
    subject: str = ""
    """The kind of the package `{name}`, if a kept response shows nothing else. Empty for lists."""
    rate: str = "read"
    """The rate limit that applies: `read`, `download` or `write`; empty for none."""
    kind: str = "api"
    """The format of its errors: `api` (problem JSON), `plain` (text), `oci` (its JSON) or `page` (HTML)."""
    response_type: Any = None  # Any: a type, for the OpenAPI description
    body: Any = None
    query: tuple[QueryParameter, ...] = ()
    status: int = 200
    auth: str = ""
    """The required scope."""


class _Node:
    __slots__ = ("any", "literal", "param", "rest", "routes")

    def __init__(self) -> None:
        self.literal: dict[str, _Node] = {}
        self.any: _Node | None = None
        self.param = ""
        self.rest = ""
        self.routes: dict[str, Route] = {}


class Routes:
    def __init__(self, routes: Iterable[Route]) -> None:
        self.all = tuple(routes)
        self._root = _Node()
        for route in self.all:
            self._add(route)

    def find(self, path: str) -> tuple[dict[str, Route], dict[str, str]]:
        """Returns the routes of a path by method and its parameters; no routes if the path is unknown."""
        node = self._root
        params: dict[str, str] = {}
        parts = path.split("/")
        for place, part in enumerate(parts[1:], 1):
            following = node.literal.get(part)
            if following is None:
                if node.any is None or not part:
                    if node.rest and part:
                        params[node.rest] = "/".join(parts[place:])
                        return node.routes, params
                    return {}, params
                params[node.any.param] = part
                following = node.any
            node = following
        return ({}, params) if node.rest else (node.routes, params)

    def _add(self, route: Route) -> None:
        node = self._root
        for part in route.path.split("/")[1:]:
            if part.endswith("...}"):
                node.rest = part[1:-4]
            elif part.startswith("{"):
                if node.any is None:
                    node.any = _Node()
                node.any.param = part[1:-1]
                node = node.any
            else:
                node = node.literal.setdefault(part, _Node())
        if route.method in node.routes:
            raise ValueError(f"duplicate route {route.method} {route.path}")
        node.routes[route.method] = route
