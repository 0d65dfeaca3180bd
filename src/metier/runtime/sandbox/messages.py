"""Messages over the private sockets and pipes between the caller, the supervisor and the starter: a length, then the bytes."""

from __future__ import annotations

import os
import socket

__all__ = ["MOST_LISTENERS", "read_message", "read_pipe", "send_listeners", "write_message", "write_pipe"]

_PART = 1 << 20
MOST_LISTENERS = 64


def read_message(connection: socket.socket) -> bytes:
    return _exactly(connection, int.from_bytes(_exactly(connection, 8), "big"))


def write_message(connection: socket.socket, data: bytes) -> None:
    connection.sendall(len(data).to_bytes(8, "big") + data)


def send_listeners(connection: socket.socket, descriptors: list[int]) -> None:
    """Sends descriptors with one byte, before the report, and closes them. None are sent if the run did not start."""
    try:
        socket.send_fds(connection, [b"!"], descriptors) if descriptors else connection.sendall(b"-")
    except OSError:
        pass  # the caller has ended
    for descriptor in descriptors:
        os.close(descriptor)


def read_pipe(pipe: int) -> bytes:
    """Reads everything until the other end is closed."""
    parts = []
    while part := os.read(pipe, _PART):
        parts.append(part)
    return b"".join(parts)


def write_pipe(pipe: int, data: bytes) -> None:
    """Writes everything and closes the pipe."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(pipe, view) :]
    finally:
        os.close(pipe)


def _exactly(connection: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = connection.recv(min(_PART, length - len(data)))
        if not part:
            raise EOFError
        data += part
    return bytes(data)
