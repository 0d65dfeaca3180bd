"""The registry as an ASGI application.

Every request takes the same steps: find the route, apply the rate limit, authenticate, call the endpoint, and turn errors into
responses. There is no middleware: each layer would take as long as reading a skill from the database.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

from metier.errors import MetierError, NotFoundError, UnavailableError
from metier.registry import web
from metier.registry.domain.access import UnauthenticatedError
from metier.registry.domain.admission import ReleaseScanner
from metier.registry.domain.records import PackageKind
from metier.registry.domain.registry import Registry, ServerOptions, now_millis, open_registry

from . import accounts, clawhub, discovery, error_responses, operations
from .authentication import authenticate, bearer_token, redacted_path
from .background_jobs import run_background_jobs
from .operations import Metrics
from .owners import owner_routes
from .packages import package_routes
from .rate_limits import RateLimiter, as_headers
from .responses import Headers, HttpResponse
from .routing import RegistryRequest, Route, Routes

__all__ = ["RegistryApp", "create_app"]

_log = logging.getLogger("metier.registry")


def create_app(
    options: ServerOptions, *, scanner: ReleaseScanner | None = None, clock: Callable[[], int] = now_millis
) -> RegistryApp:
    """Returns an application with the API and the pages. It opens its registry when the server starts it."""
    routes: Sequence[Route] = (
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
    return RegistryApp(options, Routes(routes), scanner=scanner, clock=clock)


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
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._handle(scope, receive, send)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Registry]:
        """Opens the registry and runs its background jobs."""
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

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            async with self.running():
                await send({"type": "lifespan.startup.complete"})
                await receive()
        except MetierError as error:
            await send({"type": "lifespan.startup.failed", "message": f"{error} ({error.hint})"})
            return
        await send({"type": "lifespan.shutdown.complete"})

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
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
            response, extra = await self._respond(route, request)
        except MetierError as error:
            response = self._problem(route, request, error)
        except Exception:
            _log.exception("%s %s", scope["method"], redacted_path(scope["path"]))
            internal = MetierError("internal error", hint="it was logged; try again, or tell the administrator")
            response = self._problem(route, request, internal)
        if type(response) is HttpResponse:
            await response(scope, receive, send, extra)
            status = response.status
        else:
            status = getattr(response, "status_code", 200)
            await response(scope, receive, send)
        self.metrics.request(method, route.path if route else "-", status, time.perf_counter() - started)

    async def _respond(self, route: Route, request: RegistryRequest) -> tuple[ASGIApp, Headers]:
        headers = dict(request.scope["headers"])
        address = self._address(request.scope, headers)
        token = bearer_token(headers, request.params)
        if not route.rate:
            extra: Headers = ()
        else:
            bad = self.limits.peek("failed", address) if token else None
            allowed = bad if bad and bad[1] < 0 else self.limits.take(route.rate, token or address, has_token=bool(token))
            if allowed and allowed[1] < 0:
                raise error_responses.TooManyRequestsError(limit=allowed[0], seconds=allowed[2])
            extra = as_headers(allowed) if allowed else ()
        try:
            request.caller = await authenticate(request, token, address=address)
        except UnauthenticatedError:
            self.limits.take("failed", address, has_token=False)
            raise
        return await route.endpoint(request), extra

    def _address(self, scope: Scope, headers: dict[bytes, bytes]) -> str:
        if self.options.trust_proxy and b"x-forwarded-for" in headers:
            return headers[b"x-forwarded-for"].decode("latin-1").rpartition(",")[2].strip()
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
    return NotFoundError(f"no page {scope['path'][:200]!r}", hint="see /openapi.json for all routes")


def _base(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"host":
            return f"{scope['scheme']}://{value.decode('latin-1')}"
    host, port = scope["server"]
    return f"{scope['scheme']}://{host}:{port}"
