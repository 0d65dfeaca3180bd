"""HTTP/1.1 between a script and hosts: each request is checked, gets its secrets, and is passed on as a stream."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import h11

from metier.spec import clean_host

from .placeholders import RequestSecrets
from .relay import NotGrantedError, Target, Upstream, relay

if TYPE_CHECKING:
    from .proxy import Proxy

__all__ = ["HttpSession"]

_PART = 1 << 16
_BUFFERED_BODY = 1 << 20
_AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]/@\s]+)(?::(?P<port>[0-9]{1,5}))?")
_HOP = frozenset({b"proxy-connection", b"proxy-authorization", b"proxy-authenticate", b"keep-alive", b"te", b"expect", b"host"})


class HttpSession:
    """One connection of a client. With `upstream`, all of its requests must be for that host."""

    def __init__(self, proxy: Proxy, client: socket.socket, *, port: int, upstream: Upstream | None = None) -> None:
        self._proxy = proxy
        self._client = client
        self._port = port
        self._fixed = upstream.target if upstream else None
        self._upstream = upstream
        self._above: h11.Connection | None = h11.Connection(h11.CLIENT) if upstream else None
        self._below = h11.Connection(h11.SERVER, max_incomplete_event_size=_PART)

    def serve(self) -> None:
        try:
            while self._serve_one():
                self._below.start_next_cycle()
        except (h11.ProtocolError, ValueError):
            self._refuse(400, "the request is not valid HTTP")
        finally:
            if self._upstream:
                self._proxy.forget(self._upstream.link)

    def _serve_one(self) -> bool:
        """Serves one request. Returns True if another may follow."""
        request = self._next_below()
        if not isinstance(request, h11.Request):
            return False
        try:
            if request.method == b"CONNECT" and self._fixed is None:
                self._connect(request)
                return False
            target, path = self._target(request)
            upstream = self._upstream_for(target)
        except NotGrantedError as error:
            return self._refuse(403, str(error))
        except OSError as error:
            return self._refuse(502, f"cannot reach the host: {error}")
        try:
            return self._exchange(request, upstream, path)
        except h11.LocalProtocolError:
            # Without the error's text, which quotes the header, and so the value of a secret with a line break in it.
            upstream.record.failed = "with its secret the request is not valid HTTP"
            return self._refuse(400, upstream.record.failed)
        except h11.RemoteProtocolError:
            upstream.record.failed = "the request or its answer is not valid HTTP"
            return self._refuse(502, upstream.record.failed)

    def _connect(self, request: h11.Request) -> None:
        host, port = _authority(request.target.decode("latin-1"), 443)
        target = self._proxy.target(host, port)
        if self._below.trailing_data[0]:
            raise h11.RemoteProtocolError("bytes after CONNECT")
        self._proxy.tunnel(
            self._client, target, accept=lambda: self._client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        )

    def _target(self, request: h11.Request) -> tuple[Target, bytes]:
        """Returns the host of a request, and the path to ask it for."""
        text = request.target.decode("latin-1")
        named = next((value.decode("latin-1") for name, value in request.headers if name == b"host"), "")
        if "://" in text:
            parts = urlsplit(text)
            if parts.scheme.lower() != "http":
                raise NotGrantedError(f"a {parts.scheme[:20]} URL in a plain request; use CONNECT")
            # The URL decides, and the Host header is written anew (RFC 9112, 3.2.2).
            named = parts.netloc.rpartition("@")[2]
            text = text.split("/", 3)[3] if text.count("/") >= 3 else ""
            text = text if text.startswith("?") else f"/{text}"
            host, port = _authority(named, 80)
        else:
            usual = self._fixed.port if self._fixed else self._port
            host, port = _authority(named, usual)
        if self._fixed is None:
            return self._proxy.target(host, port), text.encode("latin-1")
        if clean_host(host) != self._fixed.host:
            self._proxy.record(clean_host(host) or host, port, refused=f"named in a connection to {self._fixed.host}")
            raise NotGrantedError(f"this connection is for {self._fixed.host}, not for {host[:255]}")
        return self._fixed, text.encode("latin-1")

    def _upstream_for(self, target: Target) -> Upstream:
        if self._upstream and self._above and self._upstream.target == target and self._is_reusable(self._above):
            return self._upstream
        is_tls = self._upstream.is_tls if self._upstream else False
        if self._upstream:
            self._proxy.forget(self._upstream.link)
            self._upstream = None
        self._upstream = self._proxy.connect(target, is_tls=is_tls)
        self._above = h11.Connection(h11.CLIENT)
        return self._upstream

    def _is_reusable(self, above: h11.Connection) -> bool:
        if above.our_state is h11.IDLE:
            return True
        try:
            above.start_next_cycle()
        except h11.LocalProtocolError:
            return False
        return True

    def _exchange(self, request: h11.Request, upstream: Upstream, path: bytes) -> bool:
        target = upstream.target
        secrets = self._proxy.placeholders.for_request(
            target.host, target.port, is_private=upstream.is_tls or upstream.is_local
        )
        upgrades = any(name == b"upgrade" for name, _ in request.headers)
        usual = 443 if upstream.is_tls else 80
        shown = f"[{target.host}]" if ":" in target.host else target.host
        host = shown if target.port == usual else f"{shown}:{target.port}"
        dropped = _HOP | ({b"connection"} if not upgrades else frozenset())
        kept = [(name, value) for name, value in request.headers.raw_items() if name.lower() not in dropped]
        headers = [(b"Host", host.encode()), *secrets.headers(kept)]
        self._send_request(request, upstream, secrets, headers, secrets.target(path))
        if secrets.kept:
            names = ", ".join(sorted(secrets.kept))
            upstream.record.note = f"the placeholder of {names} was sent, not the value"
        return self._send_response(upstream)

    def _send_request(
        self, request: h11.Request, upstream: Upstream, secrets: RequestSecrets, headers: list[tuple[bytes, bytes]], path: bytes
    ) -> None:
        body = secrets.body()
        start = b""
        length = next((int(value) for name, value in request.headers if name == b"content-length"), 0)
        if secrets.replaces_body and length:
            # The value has another length than its placeholder.
            headers = [(name, value) for name, value in headers if name.lower() != b"content-length"]
            if length <= _BUFFERED_BODY:
                start = b"".join(body.feed(part) for part in self._body()) + body.rest()
                headers.append((b"Content-Length", str(len(start)).encode()))
            else:
                headers.append((b"Transfer-Encoding", b"chunked"))
        self._send_above(upstream, h11.Request(method=request.method, target=path, headers=headers))
        if start:
            self._send_above(upstream, h11.Data(data=start))
        else:
            for part in self._body():
                self._send_part(upstream, body.feed(part))
            self._send_part(upstream, body.rest())
        self._send_above(upstream, h11.EndOfMessage())

    def _body(self) -> Iterator[bytes]:
        while isinstance(event := self._next_below(), h11.Data):
            yield bytes(event.data)
        if not isinstance(event, h11.EndOfMessage):
            raise ConnectionResetError("the client went away")

    def _send_response(self, upstream: Upstream) -> bool:
        """Passes the answer on. Returns True if the client may send another request."""
        while True:
            event = self._next_above(upstream)
            if isinstance(event, h11.InformationalResponse):
                if event.status_code == 101:
                    self._switch_protocol(event, upstream)
                    return False
                continue
            if isinstance(event, h11.Response):
                headers = [pair for pair in event.headers.raw_items() if pair[0].lower() not in (b"connection", b"keep-alive")]
                answer = h11.Response(status_code=event.status_code, headers=headers, reason=event.reason)
                self._send_below(answer)
            elif isinstance(event, h11.Data):
                self._send_below(h11.Data(data=bytes(event.data)))
            elif isinstance(event, h11.EndOfMessage):
                self._send_below(h11.EndOfMessage())
                return self._below.our_state is h11.DONE and self._below.their_state is h11.DONE
            else:
                raise ConnectionResetError("the host went away")

    def _switch_protocol(self, event: h11.InformationalResponse, upstream: Upstream) -> None:
        """Websockets and the like: from here on both sides send what they want."""
        assert self._above is not None  # noqa: S101  it has sent the request
        answer = h11.InformationalResponse(status_code=101, headers=list(event.headers.raw_items()), reason=event.reason)
        self._send_below(answer)
        if early := self._above.trailing_data[0]:
            self._client.sendall(early)
        if early := self._below.trailing_data[0]:
            upstream.send(early)
        relay(self._client, upstream)

    def _next_below(self) -> object:
        while (event := self._below.next_event()) is h11.NEED_DATA:
            if self._below.they_are_waiting_for_100_continue:
                self._send_below(h11.InformationalResponse(status_code=100, headers=[]))
            self._below.receive_data(self._client.recv(_PART))
        return event

    def _next_above(self, upstream: Upstream) -> object:
        assert self._above is not None  # noqa: S101  it has sent the request
        while (event := self._above.next_event()) is h11.NEED_DATA:
            self._above.receive_data(upstream.receive())
        return event

    def _send_above(self, upstream: Upstream, event: h11.Event) -> None:
        assert self._above is not None  # noqa: S101  made with the upstream
        if data := self._above.send(event):
            upstream.send(data)

    def _send_part(self, upstream: Upstream, data: bytes) -> None:
        if data:
            self._send_above(upstream, h11.Data(data=data))

    def _send_below(self, event: h11.Event) -> None:
        if data := self._below.send(event):
            self._client.sendall(data)

    def _refuse(self, status: int, why: str) -> bool:
        """Answers with an error, if an answer has not begun, and ends the connection."""
        if self._below.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return False
        text = f"metier: {why}\n".encode("utf-8", "replace")
        headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(text))), ("Connection", "close")]
        try:
            self._send_below(h11.Response(status_code=status, headers=headers, reason=b"Refused by metier"))
            self._send_below(h11.Data(data=text))
            self._send_below(h11.EndOfMessage())
        except (OSError, h11.LocalProtocolError):
            pass
        return False


def _authority(text: str, port: int) -> tuple[str, int]:
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        raise h11.RemoteProtocolError("the request names no host")
    return match["host"], int(match["port"] or port)
