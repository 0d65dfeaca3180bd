"""A model asked over HTTP by ourselves, in one of the three APIs that most models have.

Importing pydantic-ai and a provider's client takes four times as long as the rest of `metier run`; this takes the HTTP client
alone (see ADR 12). A `WireFormat` knows an API, this module what they share: connections, time limits, streams and errors.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol

from metier.errors import connection_problem

from .failures import FailureKind, ModelFailure
from .provider_errors import read_refusal
from .query import Delta, ModelQuery
from .transcript import PartKind, TranscriptMessage

if TYPE_CHECKING:
    import httpx2

__all__ = ["DONE", "AnswerStream", "HttpModelClient", "WireFormat", "event_data"]

# Any, in this module: JSON.
_CONNECT_SECONDS = 5.0
_SECONDS = 600.0
"""Models may think for minutes before the first word."""
_LARGEST_ANSWER = 64 << 20
_LINE_END = re.compile(rb"[\r\n]")
DONE = "[DONE]"
"""The last event of some streams."""


class AnswerStream(Protocol):
    """Collects the pieces of one answer."""

    def read_chunk(self, chunk: object) -> Iterator[Delta]:
        """Reads one event of the stream and yields what it adds to the answer."""

    def message(self) -> TranscriptMessage:
        """The whole answer. A stream that ended early is a failure of the connection."""


class WireFormat(Protocol):
    """One API: its address, its requests and its answers."""

    provider: str
    path: str
    only_streams: bool
    """The provider wants long answers streamed."""

    @property
    def headers(self) -> Mapping[str, str]: ...
    def body(self, query: ModelQuery) -> dict[str, Any]: ...
    def stream_fields(self) -> dict[str, Any]:
        """The fields that ask for a stream."""

    def open_stream(self) -> AnswerStream: ...
    def read_whole(self, body: object) -> TranscriptMessage: ...
    def can_adapt(self, failure: ModelFailure, /) -> bool:
        """Returns True if the next body will not fail in this way."""


class HttpModelClient:
    """One model on one server. The connections are opened by the first request."""

    def __init__(self, base_url: str, wire: WireFormat) -> None:
        self._base = base_url
        self._wire = wire
        self._http: httpx2.AsyncClient | None = None

    @property
    def provider(self) -> str:
        return self._wire.provider

    async def send(self, query: ModelQuery) -> TranscriptMessage:
        import httpx2

        if self._wire.only_streams:
            return [piece async for piece in self.stream(query) if isinstance(piece, TranscriptMessage)][-1]
        try:
            async with self._client().stream("POST", **self._request(query, self._wire.body(query))) as response:
                return self._read(response, await _body(response))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._unreachable(error) from error

    async def stream(self, query: ModelQuery) -> AsyncGenerator[Delta | TranscriptMessage, None]:
        for is_last in (False, True):
            try:
                async with aclosing(self._stream(query)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except ModelFailure as failure:
                if is_last or not self._wire.can_adapt(failure):
                    raise

    async def _stream(self, query: ModelQuery) -> AsyncGenerator[Delta | TranscriptMessage, None]:
        import httpx2

        body = {**self._wire.body(query), **self._wire.stream_fields()}
        answer = self._wire.open_stream()
        try:
            async with self._client().stream("POST", **self._request(query, body)) as response:
                kind = response.headers.get("content-type", "")
                if response.status_code >= 300 or "json" in kind or "html" in kind:
                    # Some servers cannot stream, and send the whole answer.
                    whole = self._read(response, await _body(response))
                    for part in whole.parts:
                        if part.content:
                            yield Delta(part.content, thinking=part.kind == PartKind.THINKING)
                    yield whole
                    return
                async for line in _lines(response):
                    # To the end, so that the connection can be used again.
                    if (data := event_data(line)) is not None:
                        for delta in answer.read_chunk(data):
                            yield delta
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._unreachable(error) from error
        yield answer.message()

    async def close(self) -> None:
        client, self._http = self._http, None
        if client is not None:
            await client.aclose()

    def _read(self, response: httpx2.Response, body: bytes) -> TranscriptMessage:
        text = body.decode("utf-8", "replace")
        if response.status_code >= 400:
            raise read_refusal(response.status_code, response.headers, text)
        if response.status_code >= 300:
            # Not followed: the conversation and the key are for the server that the user named.
            target = response.headers.get("location", "another address")
            raise ModelFailure(FailureKind.REJECTED, f"{self._base} redirects to {target}")
        try:
            return self._wire.read_whole(json.loads(text))
        except ValueError as error:
            raise ModelFailure(FailureKind.UNREADABLE, f"it is not JSON: {text[:80]}") from error

    def _request(self, query: ModelQuery, body: dict[str, Any]) -> dict[str, Any]:
        import httpx2

        seconds = query.seconds or _SECONDS
        timeout = httpx2.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        return {"url": self._wire.path, "json": body, "headers": self._wire.headers, "timeout": timeout}

    def _client(self) -> httpx2.AsyncClient:
        if self._http is None:
            import httpx2

            self._http = httpx2.AsyncClient(base_url=self._base, headers={"user-agent": "metier"})
        return self._http

    def _unreachable(self, error: Exception) -> ModelFailure:
        import httpx2

        # A refused connection, an unknown host name and a silent address stay so for the next seconds.
        lasting = isinstance(
            error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol | httpx2.InvalidURL
        )
        timed_out = "no answer in time" if isinstance(error, httpx2.TimeoutException) else ""
        return ModelFailure(
            FailureKind.CONNECTION, f"{timed_out or connection_problem(error)} ({self._base})", temporary=not lasting
        )


async def _parts(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    received = 0
    async for part in response.aiter_bytes():
        received += len(part)
        if received > _LARGEST_ANSWER:
            raise ModelFailure(FailureKind.UNREADABLE, f"it is larger than {_LARGEST_ANSWER:,} bytes", temporary=False)
        yield part


async def _body(response: httpx2.Response) -> bytes:
    return b"".join([part async for part in _parts(response)])


async def _lines(response: httpx2.Response) -> AsyncGenerator[str, None]:
    """Yields the lines of an event stream. Only CR and LF end one: in the JSON of an answer, U+2028 and the like do not."""
    pieces: list[bytes] = []
    async for part in _parts(response):
        *ended, rest = _LINE_END.split(part)
        for line in ended:
            yield b"".join((*pieces, line)).decode("utf-8", "replace")
            pieces = []
        pieces.append(rest)
    yield b"".join(pieces).decode("utf-8", "replace")


def event_data(line: str) -> object:
    """Returns the value in one line of an event stream; None for a line without one."""
    if not line.startswith("data:"):
        return None
    data = line[5:].strip()
    if data == DONE:
        return DONE
    try:
        return json.loads(data)
    except ValueError as error:
        raise ModelFailure(FailureKind.UNREADABLE, f"a piece of it is not JSON: {data[:80]}") from error
