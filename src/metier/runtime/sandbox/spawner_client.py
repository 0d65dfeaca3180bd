"""Client of the spawner: one spawner for this process, started on first use and replaced if it ends."""

from __future__ import annotations

import asyncio
import atexit
import marshal
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from metier.errors import UnavailableError
from metier.runtime.readable import wait_readable

from .messages import MOST_LISTENERS, read_message, write_message
from .scope import scope_words

__all__ = ["send_request", "send_request_sync"]

SupervisorReport = dict[str, Any]  # `Runner` turns it into an Outcome

_CODE = """
import sys
sys.path.insert(0, sys.argv[3])
from metier.runtime.sandbox.spawner import main
main(int(sys.argv[1]), int(sys.argv[2]))
"""
_SCOPE_SECONDS = 3.0
_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_STOP_SECONDS = 5.0
_BUS = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")


class _Spawner:
    """The process and the connection to it. Threads share it; a fork of this process does not."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.connection: socket.socket | None = None

    def connect(self) -> socket.socket:
        """Returns a connection to a new supervisor."""
        ours, theirs = socket.socketpair()
        with theirs:
            for _ in range(2):
                try:
                    with self.lock:
                        socket.send_fds(self._start(), [b"!"], [theirs.fileno()])
                except (BrokenPipeError, ConnectionResetError):
                    self.stop()
                else:
                    return ours
        ours.close()
        raise UnavailableError(
            "the process that starts scripts was killed twice", hint="check whether the system kills processes"
        )

    def stop(self) -> None:
        with self.lock:
            if self.connection:
                self.connection.close()
            if self.process:
                try:
                    self.process.wait(_STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    pass  # it ends with the last run
            self.connection = self.process = None

    def forget(self) -> None:
        """Called in a fork: the spawner is a child of our parent, and we must not keep its socket open."""
        self.lock = threading.Lock()
        if self.connection:
            self.connection.close()
        if self.process:
            self.process.returncode = 0
        self.connection = self.process = None

    def _start(self) -> socket.socket:
        if self.connection is None:
            scope = scope_words(os.environ, user=os.geteuid()) if sys.platform == "linux" else []
            self.process, self.connection = _spawn(scope)
            if scope and not _has_started(self.connection):
                self.process.kill()
                self.process.wait()
                self.connection.close()
                self.process, self.connection = _spawn([])
        return self.connection


def _spawn(scope: list[str]) -> tuple[subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with theirs:
        words = [*scope, sys.executable, "-I", "-S", "-c", _CODE, str(theirs.fileno()), str(os.getpid()), _PACKAGES]
        environment = {name: os.environ[name] for name in _BUS if scope and name in os.environ}
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(
            words, stdin=quiet, stdout=quiet, stderr=quiet, cwd="/", env=environment, pass_fds=[theirs.fileno()]
        )
    return process, ours


def _has_started(connection: socket.socket) -> bool:
    """Returns False if the service manager did not start the spawner, or takes too long."""
    return bool(wait_readable([connection], _SCOPE_SECONDS)) and connection.recv(1) == b"+"


_SPAWNER = _Spawner()
atexit.register(_SPAWNER.stop)
os.register_at_fork(after_in_child=_SPAWNER.forget)


def send_request_sync(request: Mapping[str, object]) -> SupervisorReport:
    with _SPAWNER.connect() as connection:
        write_message(connection, marshal.dumps(dict(request)))
        return _decode(read_message(connection))


async def send_request(
    request: Mapping[str, object], on_listeners: Callable[[Sequence[int]], None] | None = None
) -> SupervisorReport:
    """Sends the request and waits for the report. When cancelled, it returns after the run has ended.

    `on_listeners` gets the descriptors of the sockets inside the run, if the request asks for some.
    """
    loop = asyncio.get_running_loop()
    data = marshal.dumps(dict(request))
    with _SPAWNER.connect() as connection:
        connection.setblocking(False)
        try:
            await loop.sock_sendall(connection, len(data).to_bytes(8, "big") + data)
            if on_listeners and (descriptors := await _listeners(loop, connection)):
                on_listeners(descriptors)
            return _decode(await _message(loop, connection))
        except asyncio.CancelledError:
            connection.shutdown(socket.SHUT_WR)
            try:
                await asyncio.wait_for(_message(loop, connection), _STOP_SECONDS)
            except (TimeoutError, EOFError, OSError):
                pass  # the run has ended, or never started
            raise


async def _listeners(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> Sequence[int]:
    """Waits for the byte that precedes the report, and returns the descriptors that came with it."""
    is_ready = asyncio.Event()
    loop.add_reader(connection.fileno(), is_ready.set)
    try:
        await is_ready.wait()
    finally:
        loop.remove_reader(connection.fileno())
    message, descriptors, _, _ = socket.recv_fds(connection, 1, MOST_LISTENERS)
    if not message:
        raise EOFError("the supervisor of the run has ended")
    return descriptors


async def _message(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> bytes:
    length = int.from_bytes(await _exactly(loop, connection, 8), "big")
    return await _exactly(loop, connection, length)


async def _exactly(loop: asyncio.AbstractEventLoop, connection: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = await loop.sock_recv(connection, min(1 << 20, length - len(data)))
        if not part:
            raise EOFError("the supervisor of the run has ended")
        data += part
    return bytes(data)


def _decode(data: bytes) -> SupervisorReport:
    report: SupervisorReport = marshal.loads(data)  # noqa: S302  from our own process, over a private socket
    return report
