"""Connections to hosts on behalf of a run, and the relay of bytes between the two sides."""

from __future__ import annotations

import socket
import ssl
import threading

from metier.runtime.readable import wait_readable
from metier.values import dataclass

from .connections import Connection, ConnectionDecision

__all__ = ["ConnectionRecord", "NotGrantedError", "Target", "Upstream", "relay"]

_PART = 1 << 16


class NotGrantedError(Exception):
    """The run may not reach this host."""


@dataclass(frozen=True, slots=True)
class Target:
    host: str
    port: int


@dataclass(slots=True, kw_only=True)
class ConnectionRecord:
    """A connection while it lasts."""

    host: str
    port: int
    sent: int = 0
    received: int = 0
    refused: str = ""
    failed: str = ""
    note: str = ""

    def value(self) -> Connection:
        decision = ConnectionDecision.ALLOWED
        if self.refused:
            decision = ConnectionDecision.REFUSED
        elif self.failed:
            decision = ConnectionDecision.FAILED
        note = self.refused or self.failed or self.note
        return Connection(host=self.host, port=self.port, sent=self.sent, received=self.received, decision=decision, note=note)


@dataclass(slots=True, kw_only=True)
class Upstream:
    """A connection to a host. It counts the bytes."""

    link: socket.socket
    target: Target
    record: ConnectionRecord
    is_local: bool = False
    """It stays on this machine."""
    is_tls: bool = False

    def send(self, data: bytes) -> None:
        self.link.sendall(data)
        self.record.sent += len(data)

    def receive(self) -> bytes:
        data = self.link.recv(_PART)
        self.record.received += len(data)
        return data


def relay(client: socket.socket, upstream: Upstream) -> None:
    """Passes bytes both ways until both sides have ended."""
    if isinstance(client, ssl.SSLSocket) or isinstance(upstream.link, ssl.SSLSocket):
        _relay_tls(client, upstream)
        return
    back = threading.Thread(target=_pass_back, args=(client, upstream), name="metier-connection", daemon=True)
    back.start()
    try:
        while data := client.recv(_PART):
            upstream.send(data)
        upstream.link.shutdown(socket.SHUT_WR)
    except OSError:
        _end(upstream.link)
    back.join()
    upstream.link.close()


def _pass_back(client: socket.socket, upstream: Upstream) -> None:
    try:
        while data := upstream.receive():
            client.sendall(data)
        client.shutdown(socket.SHUT_WR)
    except OSError:
        _end(client)


def _relay_tls(client: socket.socket, upstream: Upstream) -> None:
    """In one thread: a TLS connection must not be used by two at once. It ends with the first side that ends."""
    links = (client, upstream.link)
    while True:
        waiting: list[socket.socket] = [each for each in links if isinstance(each, ssl.SSLSocket) and each.pending()]
        for link in waiting or wait_readable(links):
            data = upstream.receive() if link is upstream.link else client.recv(_PART)
            if not data:
                return
            client.sendall(data) if link is upstream.link else upstream.send(data)


def _end(link: socket.socket) -> None:
    try:
        link.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
