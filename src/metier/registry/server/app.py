"""The registry as an ASGI application.

One door for every request: find the route, count it against the visitor's limit, learn who asks, answer, and turn whatever
goes wrong into one clear answer. No middleware: each layer would cost as much as reading a skill from the database.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from metier.errors import MetierError, NotFoundError, RefusedError, UnavailableError
from metier.registry import web
from metier.registry.domain.access import UnauthenticatedError
from metier.registry.domain.admission import ReleaseScanner
from metier.registry.domain.records import PackageKind
from metier.registry.domain.registry import Registry, ServerOptions, now_millis, open_registry

from . import accounts, clawhub, discovery, error_responses, operations
from .background_jobs import run_background_jobs
from .operations import Metrics
from .owners import owner_routes
from .packages import package_routes
from .rate_limits import RateLimiter, as_headers
from .responses import Headers, HttpResponse
from .routing import RegistryRequest, Route, Routes

__all__ = ["COOKIE", "RegistryApp", "create_app"]

COOKIE = "metier_token"
_log = logging.getLogger("metier.registry")
_READ_METHODS = ("GET", "HEAD", "OPTIONS")


def create_app(
    options: ServerOptions, *, scanner: ReleaseScanner | None = None, clock: Callable[[], int] = now_millis
) -> RegistryApp:
    """An application, API and pages, that opens its registry when the server starts it."""
    parts: Sequence[Route] = (
        *package_routes(PackageKind.SKILL),
        *owner_routes(PackageKind.SKILL),
        *package_routes(PackageKind.AGENT),
        *owner_routes(PackageKind.AGENT),
        *accounts.ROUTES,
        *discovery.ROUTES,
        *clawhub.ROUTES,
        *operations.ROUTES,
        *web.ROUTES,
    )
    return RegistryApp(options, Routes(parts), scanner=scanner, clock=clock)


class RegistryApp:
    def __init__(
        self, options: ServerOptions, routes: Routes, *, scanner: ReleaseScanner | None, clock: Callable[[], int]
    ) -> None:
        self.options = options
        self.routes = routes
        self.metrics = Metrics()
        self.limits = RateLimiter(options.rates, lambda: clock() / 1000)
        self.registry: Registry | None = None
        self._scanner = scanner
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Registry]:
        """The registry, open, with its background work."""
        self.registry = await open_registry(self.options, scanner=self._scanner, clock=self._clock)
        task = asyncio.create_task(run_background_jobs(self.registry, self.metrics.events))
        try:
            yield self.registry
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            registry, self.registry = self.registry, None
            with contextlib.suppress(UnavailableError):
                await registry.close()

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            async with self.running():
                await send({"type": "lifespan.startup.complete"})
                await receive()
        except MetierError as error:
            await send({"type": "lifespan.startup.failed", "message": f"{error} ({error.hint})"})
            return
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        found, params = self.routes.find(scope["path"])
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        route = found.get(method)
        request = RegistryRequest(scope, receive)
        request.params = params
        request.base = self.options.url or _base(scope)
        extra: Headers = ()
        try:
            if route is None or self.registry is None:
                raise _no_route(found, scope)
            request.registry = self.registry
            scope["metier.app"] = self
            answer, extra = await self._asked(route, request)
        except MetierError as error:
            answer = self._problem(route, request, error)
        except Exception:
            _log.exception("%s %s", scope["method"], scope["path"])
            mistake = MetierError("the registry made a mistake", hint="it was logged; try again, or tell whoever runs it")
            answer = self._problem(route, request, mistake)
        if type(answer) is HttpResponse:
            await answer(scope, receive, send, extra)
            status = answer.status
        else:
            status = getattr(answer, "status_code", 200)
            await answer(scope, receive, send)
        self.metrics.request(method, route.path if route else "-", status, time.perf_counter() - started)

    async def _asked(self, route: Route, request: RegistryRequest) -> tuple[ASGIApp, Headers]:
        heads = dict(request.scope["headers"])
        address = self._address(request.scope, heads)
        token, from_cookie = _token(heads, request.params)
        if not route.rate:
            extra: Headers = ()
        else:
            bad = self.limits.seen("bad", address) if token else None
            allowed = bad if bad and bad[1] < 0 else self.limits.take(route.rate, token or address, has_token=bool(token))
            if allowed and allowed[1] < 0:
                raise error_responses.TooManyRequestsError(limit=allowed[0], seconds=allowed[2])
            extra = as_headers(allowed) if allowed else ()
        if from_cookie and route.method not in _READ_METHODS:
            _check_origin(request, heads)
        try:
            request.caller = await request.registry.tokens.authenticate(token, address=address, now=request.registry.clock())
        except UnauthenticatedError:
            self.limits.take("bad", address, has_token=False)
            if not from_cookie or route.kind != "page":
                raise
            # A page is shown to whoever comes; an old cookie only means that nobody is logged in.
            request.caller = await request.registry.tokens.authenticate(None, address=address, now=0)
            token = ""
        request.token = token
        return await route.endpoint(request), extra

    def _address(self, scope: Scope, heads: dict[bytes, bytes]) -> str:
        if self.options.trust_proxy and b"x-forwarded-for" in heads:
            return heads[b"x-forwarded-for"].decode("latin-1").rpartition(",")[2].strip()
        client = scope.get("client")
        return client[0] if client else ""

    def _problem(self, route: Route | None, request: RegistryRequest, error: MetierError) -> ASGIApp:
        is_page = route.kind == "page" if route else b"text/html" in dict(request.scope["headers"]).get(b"accept", b"")
        if is_page:
            return web.render_error(request, error)
        if (route and route.kind == "plain") or request.scope["path"].startswith("/api/v1"):
            return error_responses.plain_response(error)
        return error_responses.problem_response(error)


def _no_route(found: dict[str, Route], scope: Scope) -> MetierError:
    if found and scope["method"] not in found:
        allowed = ", ".join(sorted({*found, *(["HEAD"] if "GET" in found else [])}))
        return error_responses.MethodNotAllowedError(scope["method"], allowed)
    return NotFoundError(f"there is nothing at {scope['path'][:200]!r}", hint="see /openapi.json for everything there is")


def _base(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"host":
            return f"{scope['scheme']}://{value.decode('latin-1')}"
    host, port = scope["server"]
    return f"{scope['scheme']}://{host}:{port}"


def _token(heads: dict[bytes, bytes], params: dict[str, str]) -> tuple[str, bool]:
    """The token of a request, and whether a browser added it by itself."""
    if b"authorization" in heads:
        scheme, _, text = heads[b"authorization"].decode("latin-1").strip().partition(" ")
        if scheme.lower() != "bearer" or not text:
            raise UnauthenticatedError("the Authorization header holds no token", hint="send `Authorization: Bearer mtr_…`")
        return text.strip(), False
    if "token" in params:
        return params["token"], False
    if b"cookie" in heads and COOKIE.encode() in heads[b"cookie"]:
        try:
            morsel = SimpleCookie(heads[b"cookie"].decode("latin-1")).get(COOKIE)
        except CookieError:
            morsel = None
        if morsel and morsel.value:
            return morsel.value, True
    return "", False


def _check_origin(request: RegistryRequest, heads: dict[bytes, bytes]) -> None:
    """A change that a cookie allows must come from our own pages."""
    origin = heads.get(b"origin", b"").decode("latin-1")
    if urlsplit(origin).netloc != urlsplit(request.base).netloc:
        raise RefusedError(
            "this change did not come from the registry's own pages", rule="origin", hint="use a page of the registry"
        )
