"""Connections to other MCP servers: their listings, and single files.

A connection runs in its own thread and stays open while it is used, because starting a server takes a second and a skill is
read in several steps. Everything that a server sends is limited in size.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future
from typing import Any

import httpx2
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.extension import advertise
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import ConfigDict

from metier.errors import MetierError, RefusedError, UnavailableError, connection_problem
from metier.sources import find_command, safe_environment
from metier.spec import Json

from .published_skill import EXTENSION, MOST_BYTES
from .remote_servers import RemoteServer

__all__ = ["Connections", "list_entries"]

_SECONDS = 30.0
_IDLE = 60.0
_MOST_PAGES = 200
_MOST_SKILLS = 10_000


class _Listed(types.PaginatedResult):
    model_config = ConfigDict(extra="allow")
    skills: list[Any]  # Any: nothing of it is believed before it has been read


async def list_entries(server: RemoteServer, environment: Mapping[str, str]) -> list[Json]:
    """Returns all entries that the server lists. Raises RefusedError for an endless listing or a missing extension."""
    async with _connect(server, environment) as client:
        extensions = client.server_capabilities.extensions or {}
        if EXTENSION not in extensions:
            raise RefusedError(
                f"the MCP server {server.name!r} offers no skills", rule="mcp-extension",
                hint="it must have the Skills extension (SEP-2640)",
            )  # fmt: skip
        found: list[Json] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(_MOST_PAGES):
            params = types.PaginatedRequestParams(cursor=cursor)
            request: types.Request[Any, Any] = types.Request(method="skills/list", params=params)
            page = await client.session.send_request(request, _Listed)
            found += page.skills
            cursor = page.next_cursor
            if cursor is None:
                return found
            if cursor in seen or len(found) > _MOST_SKILLS:
                break
            seen.add(cursor)
        raise RefusedError(
            f"the listing of the MCP server {server.name!r} does not end",
            rule="mcp-listing",
            hint="report it to the server's author",
        )


class Connections:
    """Open connections by server. Thread-safe; a connection closes after a minute without requests."""

    def __init__(self, servers: Mapping[str, RemoteServer], environment: Mapping[str, str]) -> None:
        self._servers, self._environment = servers, environment
        self._open: dict[str, _Connection] = {}
        self._lock = threading.Lock()

    def read(self, server: str, uri: str) -> bytes:
        """Reads one file from the server that listed it."""
        with self._lock:
            connection = self._open.get(server)
            answer = connection.ask(uri) if connection is not None else None
            if answer is None:
                connection = self._open[server] = _Connection(self._servers[server], self._environment)
                answer = connection.ask(uri)
                connection.start()
        assert answer is not None  # noqa: S101  a connection that has not begun takes requests
        try:
            return answer.result(timeout=2 * _SECONDS)
        except TimeoutError:
            raise _gone(self._servers[server], "it does not answer") from None

    def close(self) -> None:
        with self._lock:
            for connection in self._open.values():
                connection.close()
            self._open.clear()


class _Connection:
    def __init__(self, server: RemoteServer, environment: Mapping[str, str]) -> None:
        self._server, self._environment = server, environment
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._takes_requests = True
        self._requests: deque[tuple[str, Future[bytes]]] = deque()
        self._has_news = asyncio.Event()
        # A daemon thread: the program can end while the server is still answering.
        self._thread = threading.Thread(target=self._work, name=f"metier-mcp-{server.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ask(self, uri: str) -> Future[bytes] | None:
        """Asks for a file. Returns None if the connection is closing: a server may need seconds for that."""
        with self._lock:
            if not self._takes_requests:
                return None
            answer: Future[bytes] = Future()
            self._requests.append((uri, answer))
            self._loop.call_soon_threadsafe(self._has_news.set)
        return answer

    def close(self) -> None:
        with self._lock:
            self._takes_requests = False
        # The loop is closed if the connection has ended by itself.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._has_news.set)
        self._thread.join(timeout=10)

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        failed: BaseException = _gone(self._server, "the connection was closed")
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:
            failed = error
        with self._lock:
            self._takes_requests = False
        for _, answer in self._requests:
            answer.set_exception(failed)
        self._loop.close()

    async def _serve(self) -> None:
        async with _connect(self._server, self._environment) as client:
            while (request := await self._next_request()) is not None:
                uri, answer = request
                try:
                    answer.set_result(await _file(client, self._server, uri))
                except Exception as error:
                    answer.set_exception(_translated_error(self._server, error))

    async def _next_request(self) -> tuple[str, Future[bytes]] | None:
        """Returns None once the connection is closed, or was idle for a minute."""
        while True:
            with self._lock:
                if self._requests:
                    return self._requests.popleft()
                if not self._takes_requests:
                    return None
                self._has_news.clear()
            try:
                await asyncio.wait_for(self._has_news.wait(), _IDLE)
            except TimeoutError:
                with self._lock:
                    self._takes_requests = bool(self._requests)


async def _file(client: Client, server: RemoteServer, uri: str) -> bytes:
    contents = (await client.read_resource(uri)).contents
    # Exactly one, and that one asked for: a file in several parts, or another file, has no digest.
    if len(contents) != 1 or str(contents[0].uri) != uri:
        raise RefusedError(f"the MCP server {server.name!r} answered with something else than {uri}", rule="mcp-read",
                      hint="nothing of it was used")  # fmt: skip
    content = contents[0]
    try:
        data = (
            content.text.encode()
            if isinstance(content, types.TextResourceContents)
            else base64.b64decode(content.blob, validate=True)
        )
    except (binascii.Error, UnicodeEncodeError):
        raise RefusedError(f"the MCP server {server.name!r} sent {uri} in no form that can be read", rule="mcp-read",
                      hint="nothing of it was used") from None  # fmt: skip
    if len(data) > MOST_BYTES:
        raise RefusedError(f"{uri} is larger than {MOST_BYTES:,} bytes", rule="mcp-size", hint="nothing of it was used")
    return data


@contextlib.asynccontextmanager
async def _connect(server: RemoteServer, environment: Mapping[str, str]) -> AsyncIterator[Client]:
    """The SDK's client, connected; whatever keeps it from that is Unavailable."""
    inside = False
    try:
        async with contextlib.AsyncExitStack() as stack:
            if server.url:
                http = await stack.enter_async_context(
                    httpx2.AsyncClient(headers=server.headers(environment), timeout=_SECONDS)
                )
                transport: Any = streamable_http_client(server.url, http_client=http)
            else:
                # The server's stderr must not mix with our output.
                quiet = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
                path = server.environment.get("PATH", os.environ.get("PATH", os.defpath))
                command = find_command(server.command, path)
                if command is None:
                    raise FileNotFoundError(server.command)
                variables = safe_environment({"PATH": path, **server.environment})
                parameters = StdioServerParameters(command=command, args=list(server.arguments), env=variables)
                transport = stdio_client(parameters, errlog=quiet)
            client = Client(transport, extensions=[advertise(EXTENSION)], cache=None, read_timeout_seconds=_SECONDS)
            async with asyncio.timeout(_SECONDS):
                await stack.enter_async_context(client)
            inside = True
            yield client
    except BaseException as error:
        if inside and not isinstance(error, BaseExceptionGroup):
            raise
        raise _translated_error(server, error) from error


def _translated_error(server: RemoteServer, error: BaseException) -> BaseException:
    """Returns the first error inside an exception group, as a MetierError where it is not one yet."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MetierError | KeyboardInterrupt | asyncio.CancelledError):
        return error
    if isinstance(error, MCPError):
        return RefusedError(
            f"the MCP server {server.name!r} refused: {error}", rule="mcp-answer", hint="see what it says about it"
        )
    if isinstance(error, FileNotFoundError):
        return _gone(server, f"there is no program {server.command!r}")
    return _gone(server, connection_problem(error))


def _gone(server: RemoteServer, why: str) -> UnavailableError:
    return UnavailableError(
        f"the MCP server {server.name!r} cannot be used now: {why}", hint=f"check [skills.mcp.{server.name}]"
    )
