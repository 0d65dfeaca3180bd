"""HTTP responses, leaner than those of Starlette: most responses are small JSON documents."""

from __future__ import annotations

import asyncio
import hashlib
import io
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

import msgspec

__all__ = ["Headers", "HttpResponse", "StreamedResponse", "cacheable_response", "json_response", "text_response"]

Scope = MutableMapping[str, Any]  # Any: ASGI
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]

_encode = msgspec.json.Encoder().encode
JSON = b"application/json"
_REVALIDATE: Headers = ((b"cache-control", b"private, no-cache"), (b"vary", b"authorization, cookie"))
_NOSNIFF = (b"x-content-type-options", b"nosniff")
_PIECE = 64 * 1024
_IN_MEMORY = 1024 * 1024


class HttpResponse:
    """An ASGI application that sends one body, or status 304 if the client has the same ETag."""

    __slots__ = ("body", "content_type", "headers", "status", "tag")

    def __init__(self, body: bytes, *, content_type: bytes, status: int = 200, headers: Headers = (), tag: bytes = b"") -> None:
        self.body = body
        self.content_type = content_type
        self.status = status
        self.headers = headers
        self.tag = tag

    async def __call__(self, scope: Scope, receive: Receive, send: Send, more: Headers = ()) -> None:  # noqa: ARG002
        status, body = self.status, self.body
        headers = [(b"content-type", self.content_type), (b"content-length", b"%d" % len(body)), _NOSNIFF, *self.headers, *more]
        if self.tag:
            headers.append((b"etag", self.tag))
            if status == 200 and _matches_etag(scope, self.tag):
                status, body = 304, b""
                del headers[:2]
        if scope["method"] == "HEAD":
            body = b""
        await send({"type": "http.response.start", "status": status, "headers": headers})
        if len(body) <= _PIECE:
            await send({"type": "http.response.body", "body": body})
            return
        # A response is sent once; nothing else may keep a body that waits on the disk.
        self.body = b""
        pieces = _send_pieces(send, body)
        del body
        await pieces


class StreamedResponse(HttpResponse):
    """An ASGI application that sends a body of a known size in pieces, which are read one at a time."""

    __slots__ = ("pieces", "size")

    def __init__(
        self, pieces: AsyncIterator[bytes], size: int, *, content_type: bytes, headers: Headers = (), tag: bytes
    ) -> None:
        super().__init__(b"", content_type=content_type, headers=headers, tag=tag)
        self.pieces = pieces
        self.size = size

    async def start(self) -> StreamedResponse:
        """Reads the first piece, so that a missing archive is an error response and not half of one."""
        self.body = await anext(self.pieces)
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send, more: Headers = ()) -> None:
        if _matches_etag(scope, self.tag):
            self.body = b""
            await super().__call__(scope, receive, send, more)
            return
        headers = [
            (b"content-type", self.content_type), (b"content-length", b"%d" % self.size), _NOSNIFF, *self.headers, *more,
            (b"etag", self.tag),
        ]  # fmt: skip
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        async for piece in self.pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _send_pieces(send: Send, body: bytes) -> None:
    """Sends a body in pieces: the server waits for a slow reader between two of them, instead of keeping all that is left.

    A large one waits on the disk, for there may be many slow readers.
    """
    size = len(body)
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) if size > _IN_MEMORY else io.BytesIO(body) as file:
        if size > _IN_MEMORY:
            await asyncio.to_thread(file.write, body)
            file.seek(0)
        del body
        while piece := file.read(_PIECE):
            size -= len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": size > 0})


def json_response(value: object, *, status: int = 200, headers: Headers = _REVALIDATE) -> HttpResponse:
    body = _encode(value)
    return HttpResponse(body, content_type=JSON, status=status, headers=headers, tag=_tag(body) if status == 200 else b"")


def cacheable_response(body: bytes, *, content_type: bytes) -> HttpResponse:
    """Returns a response with an ETag that clients revalidate."""
    return HttpResponse(body, content_type=content_type, headers=_REVALIDATE, tag=_tag(body))


def text_response(
    text: str, *, status: int = 200, content_type: bytes = b"text/plain; charset=utf-8", headers: Headers = ()
) -> HttpResponse:
    return HttpResponse(text.encode(), content_type=content_type, status=status, headers=headers)


def _tag(body: bytes) -> bytes:
    return b'"%s"' % hashlib.blake2b(body, digest_size=12).hexdigest().encode()


def _matches_etag(scope: Scope, tag: bytes) -> bool:
    for name, value in scope["headers"]:
        if name == b"if-none-match":
            return value == b"*" or tag in [part.strip().removeprefix(b"W/") for part in value.split(b",")]
    return False
