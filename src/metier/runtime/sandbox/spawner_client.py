"""Our end of the keeper: one for this process, started when first needed, replaced when it is gone."""

from __future__ import annotations

import asyncio
import atexit
import marshal
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

from metier.errors import UnavailableError

from .supervisor import read_message, write_message

__all__ = ["send_request", "send_request_sync"]

SupervisorReport = dict[str, Any]  # what a supervisor told; `Runner` makes an Outcome of it at once

_CODE = """
import sys
sys.path.insert(0, sys.argv[3])
from metier.runtime.sandbox.spawner import main
main(int(sys.argv[1]), int(sys.argv[2]))
"""
_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_HANG_UP_SECONDS = 5.0


class _Keeper:
    """Holds the process and the socket to it. Threads may share it; a fork of us must not."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.link: socket.socket | None = None

    def run(self) -> socket.socket:
        """A fresh supervisor at the other end of the socket."""
        ours, theirs = socket.socketpair()
        with theirs:
            for _ in range(2):
                try:
                    with self.lock:
                        socket.send_fds(self._ready(), [b"!"], [theirs.fileno()])
                except (BrokenPipeError, ConnectionResetError):
                    self.stop()
                else:
                    return ours
        ours.close()
        raise UnavailableError(
            "the process that starts scripts does not stay alive", hint="see whether the system kills processes"
        )

    def stop(self) -> None:
        with self.lock:
            if self.link:
                self.link.close()
            if self.process:
                self.process.wait(_HANG_UP_SECONDS)
            self.link = self.process = None

    def forget(self) -> None:
        """In a fork of us: the process is our parent's child, and its socket must not be kept open by us."""
        self.lock = threading.Lock()
        if self.link:
            self.link.close()
        if self.process:
            self.process.returncode = 0
        self.link = self.process = None

    def _ready(self) -> socket.socket:
        if self.link is None:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            with theirs:
                words = [sys.executable, "-I", "-S", "-c", _CODE, str(theirs.fileno()), str(os.getpid()), _PACKAGES]
                quiet = subprocess.DEVNULL
                self.process = subprocess.Popen(
                    words, stdin=quiet, stdout=quiet, stderr=quiet, cwd="/", env={}, pass_fds=[theirs.fileno()]
                )
            self.link = ours
        return self.link


_KEEPER = _Keeper()
atexit.register(_KEEPER.stop)
os.register_at_fork(after_in_child=_KEEPER.forget)


def send_request_sync(request: Mapping[str, object]) -> SupervisorReport:
    with _KEEPER.run() as link:
        write_message(link, marshal.dumps(dict(request)))
        return _answer(read_message(link))


async def send_request(request: Mapping[str, object]) -> SupervisorReport:
    """Cancelled, it comes back only when the whole run is gone."""
    loop = asyncio.get_running_loop()
    data = marshal.dumps(dict(request))
    with _KEEPER.run() as link:
        link.setblocking(False)
        try:
            await loop.sock_sendall(link, len(data).to_bytes(8, "big") + data)
            return _answer(await _message(loop, link))
        except asyncio.CancelledError:
            link.shutdown(socket.SHUT_WR)
            try:
                await asyncio.wait_for(_message(loop, link), _HANG_UP_SECONDS)
            except (TimeoutError, EOFError, OSError):
                pass  # it was gone already, or did not get as far as a run
            raise


async def _message(loop: asyncio.AbstractEventLoop, link: socket.socket) -> bytes:
    length = int.from_bytes(await _exactly(loop, link, 8), "big")
    return await _exactly(loop, link, length)


async def _exactly(loop: asyncio.AbstractEventLoop, link: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = await loop.sock_recv(link, min(1 << 20, length - len(data)))
        if not part:
            raise EOFError("the supervisor of the run is gone")
        data += part
    return bytes(data)


def _answer(data: bytes) -> SupervisorReport:
    answer: SupervisorReport = marshal.loads(data)  # noqa: S302  from our own process, over a private socket
    return answer
