"""Connections to other MCP servers: when they are opened and closed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from metier.errors import UnavailableError
from metier.mcp import connections
from metier.mcp.connections import Connections
from metier.mcp.remote_servers import RemoteServer

SERVER = RemoteServer(name="acme", command="acme")


class SlowServer:
    """Answers at once, and needs until `release` to close a connection."""

    def __init__(self) -> None:
        self.opened = 0
        self.closing = threading.Event()
        self.release = threading.Event()

    @asynccontextmanager
    async def connect(self, *_: object) -> AsyncIterator[None]:
        self.opened += 1
        yield
        self.closing.set()
        await asyncio.to_thread(self.release.wait)

    async def file(self, _client: object, _server: object, uri: str) -> bytes:
        return uri.encode()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowServer]:
    server = SlowServer()
    monkeypatch.setattr(connections, "_connect", server.connect)
    monkeypatch.setattr(connections, "_file", server.file)
    yield server
    server.release.set()


def test_a_connection_is_used_again(server: SlowServer) -> None:
    opened = Connections({"acme": SERVER}, {})
    assert [opened.read("acme", uri) for uri in ("a", "b", "c")] == [b"a", b"b", b"c"]
    assert server.opened == 1
    server.release.set()
    opened.close()


def test_a_read_does_not_wait_for_a_connection_that_is_closing(server: SlowServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_IDLE", 0.0)
    opened = Connections({"acme": SERVER}, {})
    assert opened.read("acme", "a") == b"a"
    assert server.closing.wait(60)
    assert opened.read("acme", "b") == b"b"
    assert server.opened == 2
    server.release.set()
    opened.close()


def test_a_program_that_is_missing_is_an_error_for_every_read() -> None:
    opened = Connections({"acme": RemoteServer(name="acme", command="/no/such/program")}, {})
    for _ in range(2):
        with pytest.raises(UnavailableError, match="there is no program '/no/such/program'"):
            opened.read("acme", "a")
    opened.close()
