"""The server that an agent program takes for its model: it passes requests on, or answers from a recording.

The key is added here, so the program never has it. Only requests to a model are passed on; the others (updates, statistics)
are answered with 404.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode, urlsplit

from metier.errors import UnavailableError
from metier.values import dataclass, field

from .conversation import AgentTurn, count_tokens, is_model_path, loaded_skills, read_turns
from .recorded_answers import NotRecordedError, RecordedAnswer, Recording, request_digest

__all__ = ["ModelAccess", "ModelProxy", "SeenRequests"]

_SECONDS = 600
_LARGEST = 64 << 20
_LONGEST_LINE = 1 << 16
_PASSED = ("content-type", "accept", "anthropic-version", "anthropic-beta", "openai-beta", "user-agent")
_RETRIED = (408, 409, 429)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAccess:
    """The model's server, as the proxy asks it."""

    url: str
    """Without a slash at its end; empty if a recording answers."""
    suffix: str = ""
    """The part of a program's paths that `url` has already."""
    key_header: str = "authorization"
    key: str = field(default="", repr=False)

    def send(self, path: str, headers: dict[str, str], body: bytes) -> RecordedAnswer:
        parts = urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        more: dict[str, Any] = {"context": ssl.create_default_context()} if parts.scheme == "https" else {}
        connection = kind(parts.hostname or "", parts.port, timeout=_SECONDS, **more)
        if self.key:
            headers[self.key_header] = f"Bearer {self.key}" if self.key_header == "authorization" else self.key
        try:
            connection.request("POST", parts.path + path.removeprefix(self.suffix), body=body, headers=headers)
            with connection.getresponse() as response:
                text = response.read(_LARGEST).decode("utf-8", "replace")
        finally:
            connection.close()
        if self.key:
            text = text.replace(self.key, "")
        return RecordedAnswer(
            status=response.status, content_type=response.getheader("content-type") or "application/json", body=text
        )


@dataclass(slots=True)
class SeenRequests:
    """The requests of one run."""

    requests: int = 0
    tokens: int = 0
    loaded: tuple[str, ...] = ()
    turns: tuple[AgentTurn, ...] = ()
    """The longest conversation."""
    problem: Exception | None = None
    """The first request that could not be answered."""


class ModelProxy:
    """Runs in threads until it is closed. `on_load` is called with the name of a skill that was loaded; True ends the run."""

    def __init__(
        self, access: ModelAccess, *, skills: Sequence[str], scope: str, recording: Recording | None = None,
        socket: str = "", home: str = "", on_load: Callable[[str], bool] = lambda _: False, most_requests: int = 0,
        on_limit: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        """With `socket`, it listens on this Unix socket, else on a free port of loopback."""
        self.seen = SeenRequests()
        self._access, self._recording, self._scope, self._home = access, recording, scope, home
        self._skills, self._on_load = tuple(skills), on_load
        self._most, self._on_limit = most_requests, on_limit
        self._lock = threading.Lock()
        self._http = _UnixServer(socket, _Handler) if socket else _TcpServer(("127.0.0.1", 0), _Handler)
        self._http.proxy = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return self._http.socket.getsockname()[1] if isinstance(self._http, _TcpServer) else 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._http.shutdown()
        self._thread.join()
        for connection in tuple(self._http.connections):
            # Its thread may have closed it meanwhile.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._http.server_close()

    def answer(self, path: str, headers: dict[str, str], data: bytes) -> RecordedAnswer:
        """Returns the model's answer to one request."""
        try:
            body = json.loads(data)
        except ValueError:
            return _failure(400, "the request is not JSON")
        turns = read_turns(body) if isinstance(body, dict) else ()
        if self._ends_run(turns):
            return _failure(400, "this run is over")
        try:
            answer = self._ask(path, headers, data, body, turns)
        except (NotRecordedError, OSError, http.client.HTTPException) as error:
            self._failed(error)
            # Not a 5xx: the program would ask again and again.
            return _failure(400, str(error))
        with self._lock:
            self.seen.tokens += count_tokens(answer.body)
        if answer.status in (401, 403, 404):
            said = f"the model's server answered {answer.status}: {' '.join(answer.body.split())[:200]}"
            self._failed(UnavailableError(said, hint="check --model-url, --agent-model and --key-env"))
        return answer

    def _ends_run(self, turns: Sequence[AgentTurn]) -> bool:
        """Notes what the request shows. Returns True if the run needs no more answers."""
        loaded = loaded_skills(turns, self._skills)
        with self._lock:
            seen = self.seen
            seen.requests += 1
            new = [name for name in loaded if name not in seen.loaded]
            seen.loaded = (*seen.loaded, *new)
            if len(turns) >= len(seen.turns):
                seen.turns = tuple(turns)
            over = bool(self._most) and seen.requests > self._most
        ended = [self._on_load(name) for name in new]
        if over:
            self._on_limit()
        return over or any(ended)

    def _ask(
        self, path: str, headers: dict[str, str], data: bytes, body: dict[str, Any], turns: Sequence[AgentTurn]
    ) -> RecordedAnswer:
        has_tools = bool(body.get("tools"))
        model = str(body.get("model") or path.partition("?")[0].rpartition("/")[2].partition(":")[0])
        digest = request_digest(model, turns, scope=self._scope, has_tools=has_tools, home=self._home)
        if self._recording and not self._recording.writes:
            return self._recording.next(digest, turns, has_tools=has_tools)
        answer = self._access.send(_without_key(path), headers, data)
        if self._recording and answer.status < 500 and answer.status not in _RETRIED:
            self._recording.add(digest, turns, answer)
        return answer

    def _failed(self, error: Exception) -> None:
        with self._lock:
            self.seen.problem = self.seen.problem or error


def _failure(status: int, message: str) -> RecordedAnswer:
    body = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": message}})
    return RecordedAnswer(status=status, content_type="application/json", body=body)


def _without_key(path: str) -> str:
    """Returns the path without the key that Gemini's clients may put into it."""
    plain, mark, query = path.partition("?")
    kept = urlencode([(name, value) for name, value in parse_qsl(query) if name != "key"])
    return f"{plain}?{kept}" if mark and kept else plain


def _checked_size(size: int) -> int:
    if not 0 <= size <= _LARGEST:
        raise ValueError(size)
    return size


class _Connections(socketserver.BaseServer):
    """Knows its open connections, so that they can be ended."""

    def __init__(self, *words: Any) -> None:  # Any: as typeshed has it
        self.connections: set[socket.socket] = set()
        super().__init__(*words)

    def process_request(self, request: Any, client_address: Any) -> None:  # Any: as typeshed has it
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # Any: as typeshed has it
        self.connections.discard(request)
        super().shutdown_request(request)


class _TcpServer(_Connections, ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    proxy: ModelProxy

    def handle_error(self, request: object, client_address: object) -> None:
        """A program that was stopped leaves its connections."""


class _UnixServer(_Connections, socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64
    proxy: ModelProxy

    def handle_error(self, request: object, client_address: object) -> None:
        """A program that was stopped leaves its connections."""

    def server_close(self) -> None:
        super().server_close()
        os.unlink(str(self.server_address))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _TcpServer | _UnixServer
    disable_nagle_algorithm = False

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def do_GET(self) -> None:
        self._say(_failure(404, "there is nothing here"))

    def do_POST(self) -> None:
        try:
            data = self._body()
        except ValueError:
            self.close_connection = True
            self._say(_failure(400, "the request has no valid length, or is too large"))
            return
        if not is_model_path(self.path):
            self._say(_failure(404, "there is nothing here"))
            return
        headers = {name: value for name in _PASSED if (value := self.headers.get(name))}
        self._say(self.server.proxy.answer(self.path, {**headers, "accept-encoding": "identity"}, data))

    def do_HEAD(self) -> None:
        self.do_GET()

    def _body(self) -> bytes:
        """Raises ValueError for a body without a valid length, and for one that is too large."""
        if length := self.headers.get("content-length"):
            return self.rfile.read(_checked_size(int(length)))
        if "chunked" not in (self.headers.get("transfer-encoding") or ""):
            return b""
        data = bytearray()
        while size := int(self.rfile.readline(_LONGEST_LINE).partition(b";")[0], 16):
            _checked_size(len(data) + _checked_size(size))
            data += self.rfile.read(size)
            self.rfile.readline(_LONGEST_LINE)
        self.rfile.readline(_LONGEST_LINE)
        return bytes(data)

    def _say(self, answer: RecordedAnswer) -> None:
        data = answer.body.encode("utf-8", "replace")
        self.send_response(answer.status)
        self.send_header("content-type", answer.content_type)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
