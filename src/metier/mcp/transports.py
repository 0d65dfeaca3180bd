"""Runs the server: on standard input and output for one client, or over HTTP for several.

Over HTTP it listens on loopback unless a token protects it. A web page in the user's browser can reach a server on
loopback, so the Host and Origin of every request are checked (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import hmac
import ipaddress
import os
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, cast

from metier.errors import ConflictError, RefusedError, UsageError
from metier.values import dataclass

from .remote_servers import needs_sdk
from .tools import OpenSession
from .watcher import SkillWatcher

if TYPE_CHECKING:
    from anyio import AsyncFile

    from .general_tools import GeneralTools
    from .server import SkillServer

__all__ = ["HttpOptions", "require_token", "serve_http", "serve_stdio"]

Scope = MutableMapping[str, Any]
Asgi = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]
_WAITING = 128
"""Connections that may wait to be accepted."""
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    host: str = "127.0.0.1"
    port: int = 8642
    """0 picks a free port."""
    token: str | None = None
    hosts: tuple[str, ...] = ()
    """More names of this server, as behind a proxy: host or host:port."""
    origins: tuple[str, ...] = ()
    """Web origins that may call it: https://example.com."""
    scripts: bool = False
    """Clients may run scripts, which needs a token also on loopback: every program of this machine can connect there."""
    max_sessions: int = 100
    """Open sessions of clients; more are refused with status 503."""
    idle_seconds: float = 600
    """A session without a request for this long is closed."""

    def __post_init__(self) -> None:
        if self.token is None and self.scripts:
            raise RefusedError(
                "clients may run scripts and no token is set", rule="mcp-token",
                hint="set METIER_MCP_TOKEN=$(openssl rand -hex 32), or leave out --allow-scripts",
            )  # fmt: skip
        if self.token is None and not _is_loopback(self.host):
            raise RefusedError(
                f"{self.host} can be reached from other machines and no token is set", rule="mcp-token",
                hint="set METIER_MCP_TOKEN, or listen on 127.0.0.1",
            )  # fmt: skip
        if self.token is not None and (len(self.token) < 16 or not self.token.isascii() or not self.token.isprintable()):
            raise UsageError(
                "the token has fewer than 16 characters or is not ASCII text", hint="make one with `openssl rand -hex 32`"
            )

    @property
    def allowed_hosts(self) -> list[str]:
        name = f"[{self.host}]" if ":" in self.host else self.host
        names = (*_LOOPBACK, *(() if _is_any(self.host) else (name,)), *self.hosts)
        return [form for each in dict.fromkeys(names) for form in (each, f"{each}:*")]

    @property
    def allowed_origins(self) -> list[str]:
        own = [f"http://{each}{port}" for each in _LOOPBACK for port in ("", ":*")]
        return [*own, *self.origins]


async def serve_stdio(watcher: SkillWatcher, open_session: OpenSession, general: GeneralTools | None = None) -> None:
    """Serves until the client closes standard input."""
    make_server = _sdk_server()
    from mcp.server.stdio import stdio_server

    # The SDK only iterates over the lines of the AsyncFile.
    async with watcher, stdio_server(stdin=cast("AsyncFile[str]", input_lines(0))) as (receive, send):
        served = make_server(watcher, open_session, general)
        await served.server.run(receive, send, served.options)


async def serve_http(
    watcher: SkillWatcher, open_session: OpenSession, http: HttpOptions, *, ready: Callable[[str], None],
    general: GeneralTools | None = None,
) -> None:  # fmt: skip
    """Serves until it is interrupted. `ready` is called with the URL once clients can connect."""
    make_server = _sdk_server()
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    async with watcher:
        served = make_server(watcher, open_session, general)
        security = TransportSecuritySettings(allowed_hosts=http.allowed_hosts, allowed_origins=http.allowed_origins)
        app: Asgi = served.server.streamable_http_app(
            host=http.host, transport_security=security, max_sessions=http.max_sessions, session_idle_timeout=http.idle_seconds
        )
        if http.token is not None:
            app = require_token(app, http.token)
        bound = _bound(http)
        config = uvicorn.Config(
            strip_header_blanks(app), log_level="warning", access_log=False, lifespan="on", timeout_graceful_shutdown=2
        )
        name = f"[{http.host}]" if ":" in http.host else http.host
        ready(f"http://{name}:{bound.getsockname()[1]}/mcp")
        try:
            await uvicorn.Server(config).serve(sockets=[bound])
        finally:
            served.notifier.close()
            bound.close()


def _sdk_server() -> type[SkillServer]:
    """Imports the server, whose SDK is an optional dependency."""
    try:
        from .server import SkillServer
    except ImportError as error:
        raise needs_sdk() from error
    return SkillServer


async def input_lines(descriptor: int) -> AsyncIterator[str]:
    """Yields lines of input. A daemon thread reads them, so that an interrupted server ends while its input is open."""
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[str | None](maxsize=64)

    def put(line: str | None) -> None:
        waiting = lines.put(line)
        try:
            asyncio.run_coroutine_threadsafe(waiting, loop).result()
        finally:
            # If the loop has ended, the coroutine was never awaited.
            waiting.close()

    def read() -> None:
        # Unbuffered: a daemon thread that holds a buffer's lock would block the interpreter's shutdown.
        left = b""
        try:
            while data := os.read(descriptor, 1 << 16):
                *whole, left = (left + data).split(b"\n")
                for line in whole:
                    put(line.decode("utf-8", "replace"))
            if left:
                put(left.decode("utf-8", "replace"))
            put(None)
        except (RuntimeError, OSError, concurrent.futures.CancelledError):
            # The loop has ended.
            return

    threading.Thread(target=read, name="metier-input", daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line


def strip_header_blanks(app: Asgi) -> Asgi:
    """Strips the blanks around header values (RFC 9110, 5.5). One of the two parsers that uvicorn may use does not."""

    async def trim(scope: Scope, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
        if scope["type"] == "http":
            scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        await app(scope, receive, send)

    return trim


def require_token(app: Asgi, token: str) -> Asgi:
    """Answers 401 to requests without the bearer token."""
    expected = f"Bearer {token}".encode()

    async def guard(scope: Scope, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)
        brought = [value for name, value in scope["headers"] if name == b"authorization"]
        # Exactly one header: with two, a proxy and this server could read different ones.
        if len(brought) == 1 and hmac.compare_digest(brought[0], expected):
            return await app(scope, receive, send)
        headers = [(b"www-authenticate", b'Bearer realm="metier"'), (b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"a bearer token is required\n"})
        return None

    return guard


def _bound(http: HttpOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in http.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((http.host, http.port))
        # From now on clients can connect and wait.
        bound.listen(_WAITING)
    except socket.gaierror:
        bound.close()
        raise UsageError(f"{http.host!r} is not an address of this machine", hint="use 127.0.0.1") from None
    except OSError as error:
        bound.close()
        why = (error.strerror or "error").lower()
        raise ConflictError(
            f"cannot listen on {http.host} port {http.port}: {why}", hint="choose another with --port"
        ) from None
    return bound


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
