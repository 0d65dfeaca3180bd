"""Reads the server name from the first bytes of a TLS connection, without ending it (RFC 8446, 4.1.2; RFC 6066, 3)."""

from __future__ import annotations

__all__ = ["IncompleteHello", "is_tls", "server_name"]

_HANDSHAKE, _CLIENT_HELLO, _SERVER_NAME = 22, 1, 0
LONGEST_HELLO = 1 << 16


class IncompleteHello(Exception):  # noqa: N818  not an error: more bytes are needed
    """The bytes so far are the start of a ClientHello."""


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, length: int) -> bytes:
        part = self.data[self.at : self.at + length]
        if len(part) < length:
            raise ValueError("too short")
        self.at += length
        return part

    def number(self, length: int) -> int:
        return int.from_bytes(self.take(length), "big")

    def vector(self, size: int) -> _Reader:
        """Returns a reader of the part that a length of `size` bytes precedes."""
        return _Reader(self.take(self.number(size)))

    @property
    def is_empty(self) -> bool:
        return self.at >= len(self.data)


def is_tls(data: bytes) -> bool:
    return data[:1] == bytes([_HANDSHAKE])


def server_name(data: bytes) -> str:
    """Returns the name that the client asks for; empty if it names none. Raises ValueError if this is no ClientHello."""
    hello = _Reader(_handshake(data))
    hello.take(2 + 32)
    hello.vector(1)  # session
    hello.vector(2)  # ciphers
    hello.vector(1)  # compression
    if hello.is_empty:
        return ""
    extensions = hello.vector(2)
    while not extensions.is_empty:
        kind = extensions.number(2)
        content = extensions.vector(2)
        if kind == _SERVER_NAME:
            names = content.vector(2)
            if names.number(1) != 0:
                raise ValueError("unknown kind of server name")
            return names.vector(2).data.decode("ascii")
    return ""


def _handshake(data: bytes) -> bytes:
    """Joins the records that hold the ClientHello."""
    message = b""
    at = 0
    while len(message) < 4 or len(message) < 4 + int.from_bytes(message[1:4], "big"):
        if len(message) >= 4 and (message[0] != _CLIENT_HELLO or int.from_bytes(message[1:4], "big") > LONGEST_HELLO):
            raise ValueError("not a ClientHello")
        head = data[at : at + 5]
        if head and head[0] != _HANDSHAKE:
            raise ValueError("not a handshake")
        length = int.from_bytes(head[3:5], "big")
        if len(head) < 5 or len(data) < at + 5 + length:
            raise IncompleteHello
        if not length:
            raise ValueError("empty record")
        message += data[at + 5 : at + 5 + length]
        at += 5 + length
    if message[0] != _CLIENT_HELLO:
        raise ValueError("not a ClientHello")
    return message[4 : 4 + int.from_bytes(message[1:4], "big")]
