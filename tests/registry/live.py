"""A registry behind a real socket, on a thread of the test, with limits that the test chooses."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn

from guards import eventually
from metier.registry import ServerOptions, create_app
from metier.registry.domain.registry import open_registry
from metier.registry.server.app import RegistryApp
from metier.registry.server.uvicorn_server import uvicorn_options
from registry.builders import WORKERS

__all__ = ["LiveServer", "live"]


class LiveServer:
    def __init__(self, port: int, app: RegistryApp, server: uvicorn.Server) -> None:
        self.port = port
        self.app = app
        self._server = server

    def is_idle(self) -> bool:
        """Returns whether no client is connected."""
        return not self._server.server_state.connections

    def admin_token(self) -> str:
        return asyncio.run(_create_token(self.app.options))

    def connect(self, data: bytes = b"", *, receive_buffer: int = 0) -> socket.socket:
        """A connection that has sent these bytes."""
        connection = socket.socket()
        if receive_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.settimeout(60)
        connection.connect(("127.0.0.1", self.port))
        connection.sendall(data)
        return connection

    def ask(self, data: bytes) -> bytes:
        """What the server answers until it closes the connection; with `connection: close` the whole response."""
        with self.connect(data) as connection:
            return read_all(connection)


def read_all(connection: socket.socket) -> bytes:
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(65536):
            received += data
    return received


async def _create_token(options: ServerOptions) -> str:
    registry = await open_registry(options)
    try:
        return await registry.tokens.create_first(now=registry.clock()) or ""
    finally:
        await registry.close()


@contextlib.contextmanager
def live(folder: Path, **options: Any) -> Iterator[LiveServer]:
    chosen = ServerOptions(db=f"sqlite://{folder}/registry.sqlite", blobs=f"file://{folder}/blobs", **options)
    app = create_app(chosen, workers=WORKERS)
    server = uvicorn.Server(uvicorn.Config(app, **uvicorn_options(chosen)))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            eventually(lambda: server.started or not thread.is_alive(), "the server runs")
            yield LiveServer(listener.getsockname()[1], app, server)
        finally:
            server.should_exit = True
            thread.join(30)
