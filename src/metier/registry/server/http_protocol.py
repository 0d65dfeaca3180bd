"""uvicorn's HTTP protocol with limits: a client cannot hold memory or a connection for longer than its request needs.

uvicorn reads a request of any length at any speed, and waits for a reader for ever. This protocol counts the bytes and lines
of a head, bounds the number of connections, and closes those that send or take nothing. A request that arrives in one piece,
which is nearly every request, starts no timer.
"""

from __future__ import annotations

import asyncio
import http
import resource
from collections import Counter
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from metier.registry.domain.registry import ConnectionLimits

from .client_address import TrustedProxies, limit_key

__all__ = ["ConnectionGate", "LimitedHttpProtocol"]

_SPARE_FILES = 128
"""Descriptors that stay free for the database, archives and worker processes."""
_MOST_DISCARDED = 24 * 1024 * 1024
"""Bytes of a request that are read and thrown away after its response: a client that sends a whole upload first sees why it
was refused."""
_FRAMING = 8
"""Bytes of chunk headers that one byte of a chunked body may cost."""


class ConnectionGate:
    """Counts the connections of one server process by client."""

    def __init__(self, limits: ConnectionLimits, trusted: TrustedProxies) -> None:
        self.limits = limits
        self._trusted = trusted
        self._clients: Counter[str] = Counter()
        self._total = 0

    def enter(self, address: str) -> bool:
        """Counts a new connection; returns False if there are too many."""
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = min(self.limits.total, max(files - _SPARE_FILES, 1))
        key = limit_key(address)
        if self._total >= most or (self._clients[key] >= self.limits.per_client and address not in self._trusted):
            return False
        self._total += 1
        self._clients[key] += 1
        return True

    def leave(self, address: str) -> None:
        key = limit_key(address)
        self._total -= 1
        self._clients[key] -= 1
        if not self._clients[key]:
            del self._clients[key]


class LimitedHttpProtocol(HttpToolsProtocol):
    def __init__(self, *arguments: Any, gate: ConnectionGate, **options: Any) -> None:  # Any: those of uvicorn
        super().__init__(*arguments, **options)
        self._gate = gate
        self._limits = gate.limits
        self._address: str | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._in_head = True
        self._complete = False
        self._head_bytes = 0
        self._chunk = 0
        self._received = 0
        self._delivered = 0
        self._checked = 0
        self._refusal = (400, "Invalid HTTP request received.")

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn narrows it
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        if not self._gate.enter(address):
            self._refuse(503, "Too many connections.")
            return
        self._address = address
        self._timer = self.loop.call_later(self._limits.head_seconds, self._head_is_late)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._address is not None:
            self._gate.leave(self._address)
            self._address = None
        self._stop_timer()
        self._stop_write_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._chunk = len(data)
        if self._in_head or self._complete:
            self._head_bytes += self._chunk
        else:
            self._received += self._chunk
        super().data_received(data)
        if self._complete:
            if self._timer is not None:
                self._stop_timer()
        elif not self.transport.is_closing():
            self._check_unfinished()

    def _check_unfinished(self) -> None:
        """A request has begun and not ended: bounds its head, its framing and its time."""
        if self._in_head:
            if self._head_bytes > self._limits.head_bytes:
                self._refuse(431, "The head of the request is too long.")
            elif self._timer is None:
                self._timer = self.loop.call_later(self._limits.head_seconds, self._head_is_late)
            return
        if self._received - self._delivered > self._limits.head_bytes + _FRAMING * self._delivered:
            self._refuse(400, "The request has more framing than contents.")
        elif self.cycle.response_complete and self._received > _MOST_DISCARDED:
            self.transport.close()
        elif self._timer is None:
            self._timer = self.loop.call_later(self._limits.body_seconds, self._check_progress)

    def on_message_begin(self) -> None:
        self._in_head = True
        self._complete = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if len(self.headers) > self._limits.head_lines or (
            # Only a piece that is larger than a head can contain too large a head that is complete.
            max(self._chunk, self._head_bytes) > self._limits.head_bytes and self._size_of_head() > self._limits.head_bytes
        ):
            self._refusal = (431, "The head of the request is too long.")
            raise httptools.HttpParserError("head too long")
        self._in_head = False
        self._head_bytes = 0
        self._received = self._delivered = self._checked = 0
        self._stop_timer()
        super().on_headers_complete()

    def _size_of_head(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def on_body(self, body: bytes) -> None:
        self._delivered += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._complete = True
        self._head_bytes = 0
        super().on_message_complete()

    def _head_is_late(self) -> None:
        self._timer = None
        self._refuse(408, "The head of the request took too long.")

    def _check_progress(self) -> None:
        """Closes a connection whose body came too slowly, unless it is the application that is not reading."""
        if self.transport.is_closing():
            return
        is_waiting = self.flow.read_paused or self.cycle.waiting_for_100_continue
        if not is_waiting and self._delivered - self._checked < self._limits.body_bytes:
            self._timer = None
            self._refuse(408, "The body of the request came too slowly.")
            return
        self._checked = self._delivered
        self._timer = self.loop.call_later(self._limits.body_seconds, self._check_progress)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop_write_timer()
        self._write_timer = self.loop.call_later(self._limits.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_write_timer()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  (uvicorn has one text for every error of its parser)
        self._refuse(*self._refusal)

    def _refuse(self, status: int, reason: str) -> None:
        """Says why, if no response is under way, and closes the connection."""
        if self.transport.is_closing():
            return
        is_responding = bool(self.cycle) and self.cycle.response_started and not self.cycle.response_complete
        if not is_responding:
            title = http.HTTPStatus(status).phrase
            lines = (
                f"HTTP/1.1 {status} {title}", "content-type: text/plain; charset=utf-8", f"content-length: {len(reason)}",
                *(["retry-after: 5"] if status == 503 else []), "connection: close", "", reason,
            )  # fmt: skip
            self.transport.write("\r\n".join(lines).encode())
        self.transport.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
