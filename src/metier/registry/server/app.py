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
from functools import cached_property

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from metier.errors import MetierError, NotFoundError, UnavailableError
from metier.registry import web
from metier.registry.domain.access import UnauthenticatedError
from metier.registry.domain.admission import ReleaseScanner
from metier.registry.domain.records import PackageKind
from metier.registry.domain.registry import Registry, ServerOptions, now_millis, open_registry
from metier.registry.workers import Workers

from . import (
    accounts,
    advisories,
    clawhub,
    device_logins,
    discovery,
    error_responses,
    oci,
    operations,
    people,
    reviews,
    trusted_publishers,
)
from .authentication import authenticate, bearer_token, redacted_path
from .background_jobs import run_background_jobs
from .client_address import TrustedProxies, limit_key
from .documents import Documents
from .metrics import Metrics
from .openapi import describe
from .owners import owner_routes
from .packages import package_routes
from .page_cache import PageCache
from .rate_limits import RateLimiter, as_headers
from .request_checks import check_request
from .request_log import REQUEST_ID, LoggedRequest, log_request, new_request_id
from .responses import Headers, HttpResponse
from .routing import RegistryRequest, Route, Routes

__all__ = ["RegistryApp", "create_app"]

_log = logging.getLogger("metier.registry")


def create_app(
    options: ServerOptions,
    *,
    scanner: ReleaseScanner | None = None,
    clock: Callable[[], int] = now_millis,
    workers: Workers | None = None,
) -> RegistryApp:
    """Returns an application with the API and the pages. It opens its registry when the server starts it."""
    routes: Sequence[Route] = (
        *package_routes(PackageKind.SKILL),
        *owner_routes(PackageKind.SKILL),
        *package_routes(PackageKind.AGENT),
        *owner_routes(PackageKind.AGENT),
        *reviews.review_routes(PackageKind.SKILL),
        *reviews.review_routes(PackageKind.AGENT),
        *reviews.NAMESPACE_ROUTES,
        *accounts.ROUTES,
        *advisories.ROUTES,
        *people.ROUTES,
        *device_logins.ROUTES,
        *trusted_publishers.ROUTES,
        *discovery.ROUTES,
        *clawhub.ROUTES,
        *oci.ROUTES,
        *operations.ROUTES,
        *web.ROUTES,
    )
    return RegistryApp(options, Routes(routes), scanner=scanner, clock=clock, workers=workers)


class RegistryApp:
    def __init__(
        self,
        options: ServerOptions,
        routes: Routes,
        *,
        scanner: ReleaseScanner | None,
        clock: Callable[[], int],
        workers: Workers | None = None,
    ) -> None:
        self.options = options
        self.routes = routes
        self.metrics = Metrics(options.metrics_folder)
        self.limits = RateLimiter(options.rates, lambda: clock() / 1000)
        self.proxies = TrustedProxies(options.trust_proxy)
        self.registry: Registry | None = None
        self.documents: Documents
        self.pages = PageCache()
        self._scanner = scanner
        self._clock = clock
        self._workers = workers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._handle(scope, receive, send)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Registry]:
        """Opens the registry and runs its background jobs."""
        self.registry = await open_registry(self.options, scanner=self._scanner, clock=self._clock, workers=self._workers)
        self.documents = Documents(self.registry.workers.pages, self.options.work)
        task = asyncio.create_task(run_background_jobs(self.registry, self.metrics))
        try:
            yield self.registry
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            registry, self.registry = self.registry, None
            with contextlib.suppress(UnavailableError):
                await registry.close()

    @cached_property
    def openapi(self) -> bytes:
        """The description of the routes, which never changes."""
        return msgspec.json.encode(describe(self.routes.all))

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
        request.base = self.options.url or _base(scope, self.proxies.scheme(scope))
        request_id = new_request_id(self.proxies.request_id(scope))
        REQUEST_ID.set(request_id)
        scope["metier.app"] = self
        extra: Headers = ()
        try:
            if route is None or self.registry is None:
                raise _no_route(found, scope)
            request.registry = self.registry
            response, extra = await self._respond(route, request)
        except MetierError as error:
            response = self._problem(route, request, error)
        except Exception:
            _log.exception("%s %s", scope["method"], redacted_path(scope["path"]))
            hint = f"try again, or tell the administrator that request {request_id} failed"
            internal = MetierError("internal error", hint=hint)
            response = self._problem(route, request, internal)
        identified = (b"x-request-id", request_id.encode())
        if isinstance(response, HttpResponse):
            await response(scope, receive, send, (*extra, identified))
            status = response.status
        else:
            status = getattr(response, "status_code", 200)
            await response(scope, receive, _adding(send, identified))
        seconds = time.perf_counter() - started
        self.metrics.request(method, route.path if route else "-", status, seconds)
        log_request(
            LoggedRequest(
                method=scope["method"],
                path=redacted_path(scope["path"]),
                status=status,
                seconds=seconds,
                client=self.proxies.client(scope),
                holder=request.caller.token.holder if request.caller.token else "",
            )
        )

    async def _respond(self, route: Route, request: RegistryRequest) -> tuple[ASGIApp, Headers]:
        headers = dict(request.scope["headers"])
        check_request(request.scope, headers)
        address = self.proxies.client(request.scope)
        token = ""
        if route.kind == "oci":
            token = oci.login_token(headers.get(b"authorization", b"").decode("latin-1"))
        token = token or bearer_token(headers, request.params)
        try:
            request.caller = await authenticate(request, token, address=address)
        except UnauthenticatedError:
            # Only failures are refused: other people behind the same address have valid tokens.
            self._limit("failed", limit_key(address), has_token=False)
            raise
        extra: Headers = ()
        if route.rate:
            holder = request.caller.token
            key = f"token {holder.id}" if holder else limit_key(address)
            extra = self._limit(route.rate, key, has_token=holder is not None)
        if route.is_kept:
            return await self.pages.respond(request, route), extra
        return await route.endpoint(request), extra

    def _limit(self, rate: str, key: str, *, has_token: bool) -> Headers:
        allowed = self.limits.take(rate, key, has_token=has_token)
        if allowed and allowed[1] < 0:
            raise error_responses.TooManyRequestsError(limit=allowed[0], seconds=allowed[2])
        return as_headers(allowed) if allowed else ()

    def _problem(self, route: Route | None, request: RegistryRequest, error: MetierError) -> ASGIApp:
        is_page = route.kind == "page" if route else b"text/html" in dict(request.scope["headers"]).get(b"accept", b"")
        if is_page:
            return web.render_error(request, error)
        if (route and route.kind == "plain") or request.scope["path"].startswith("/api/v1"):
            return error_responses.plain_response(error)
        if route and route.kind == "oci":
            return error_responses.oci_response(error)
        return error_responses.problem_response(error)


def _adding(send: Send, header: tuple[bytes, bytes]) -> Send:
    async def send_with_header(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], header]}
        await send(message)

    return send_with_header


def _no_route(found: dict[str, Route], scope: Scope) -> MetierError:
    if found and scope["method"] not in found:
        allowed = ", ".join(sorted({*found, *(["HEAD"] if "GET" in found else [])}))
        return error_responses.MethodNotAllowedError(scope["method"], allowed)
    return NotFoundError(f"no page {scope['path'][:200]!r}", hint="see /openapi.json for all routes")


def _base(scope: Scope, scheme: str) -> str:
    for name, value in scope["headers"]:
        if name == b"host":
            return f"{scheme}://{value.decode('latin-1')}"
    host, port = scope["server"]
    return f"{scheme}://{host}:{port}"
