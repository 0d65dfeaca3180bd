"""Running the server: on standard input and output for one client, or over HTTP for several.

Over HTTP it listens on this machine only, unless a token protects it. A web page that somebody visits can reach a
server on their own machine, so the Host and Origin of every request are checked (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import hmac
import os
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, cast

from metier.errors import ConflictError, UsageError

from .http import HttpOptions
from .server import SkillServer
from .tools import OpenSession
from .watcher import SkillWatcher

if TYPE_CHECKING:
    from anyio import AsyncFile

__all__ = ["guarded", "serve_http", "serve_stdio"]

Scope = MutableMapping[str, Any]
Asgi = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]
_WAITING = 128
"""Connections that may wait to be answered."""


async def serve_stdio(watcher: SkillWatcher, open_session: OpenSession) -> None:
    """Until the client closes our input."""
    from mcp.server.stdio import stdio_server

    # AsyncFile is more than the SDK uses of it: it only asks for one line after the other.
    async with watcher, stdio_server(stdin=cast("AsyncFile[str]", input_lines(0))) as (receive, send):
        served = SkillServer(watcher, open_session)
        await served.server.run(receive, send, served.options)


async def serve_http(
    watcher: SkillWatcher, open_session: OpenSession, http: HttpOptions, *, ready: Callable[[str], None]
) -> None:
    """Until we are told to end. `ready` hears the address once clients can connect."""
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    async with watcher:
        served = SkillServer(watcher, open_session)
        security = TransportSecuritySettings(allowed_hosts=http.allowed_hosts, allowed_origins=http.allowed_origins)
        app: Asgi = served.server.streamable_http_app(host=http.host, transport_security=security)
        if http.token is not None:
            app = guarded(app, http.token)
        bound = _bound(http)
        config = uvicorn.Config(trimmed(app), log_level="warning", access_log=False, lifespan="on", timeout_graceful_shutdown=2)
        name = f"[{http.host}]" if ":" in http.host else http.host
        ready(f"http://{name}:{bound.getsockname()[1]}/mcp")
        try:
            await uvicorn.Server(config).serve(sockets=[bound])
        finally:
            served.notifier.close()
            bound.close()


async def input_lines(descriptor: int) -> AsyncIterator[str]:
    """Lines as they come. A thread reads them that nobody waits for, so an interrupted server ends though its input is open."""
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[str | None](maxsize=64)

    def put(line: str | None) -> None:
        waiting = lines.put(line)
        try:
            asyncio.run_coroutine_threadsafe(waiting, loop).result()
        finally:
            # Where the loop is gone nobody has awaited it, and nobody will.
            waiting.close()

    def read() -> None:
        # Unbuffered: the lock of a buffer, held by a thread that never ends, would keep Python from ending.
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
            # The loop is gone, and so is whoever would have read the rest.
            return

    threading.Thread(target=read, name="metier-input", daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line


def trimmed(app: Asgi) -> Asgi:
    """The same application, which sees headers without the blanks around them (RFC 9110, 5.5).

    uvicorn leaves that to its parser, and one of the two that it takes, whichever is installed, does not do it.
    """

    async def trim(scope: Scope, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
        if scope["type"] == "http":
            scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        await app(scope, receive, send)

    return trim


def guarded(app: Asgi, token: str) -> Asgi:
    """The same application, for those who bring the token."""
    expected = f"Bearer {token}".encode()

    async def guard(scope: Scope, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)
        brought = [value for name, value in scope["headers"] if name == b"authorization"]
        # One header and no more: a proxy and we must not read different ones.
        if len(brought) == 1 and hmac.compare_digest(brought[0], expected):
            return await app(scope, receive, send)
        headers = [(b"www-authenticate", b'Bearer realm="metier"'), (b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"a bearer token is needed\n"})
        return None

    return guard


def _bound(http: HttpOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in http.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((http.host, http.port))
        # From now on whoever has heard the address can connect, and waits until we answer.
        bound.listen(_WAITING)
    except socket.gaierror:
        bound.close()
        raise UsageError(f"{http.host!r} is no address of this machine", hint="such as 127.0.0.1") from None
    except OSError as error:
        bound.close()
        why = (error.strerror or "error").lower()
        raise ConflictError(
            f"cannot listen on {http.host} port {http.port}: {why}", hint="choose another with --port"
        ) from None
    return bound
