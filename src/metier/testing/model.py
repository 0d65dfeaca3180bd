"""A model that answers from a script, served over real HTTP on loopback.

Everything between a test and the model is then the real thing: the SDK, its retries, its parser of streams.

    with ModelServer([calls("load_skill", name="pdf"), says("Filled in.")]) as model:
        client = openai.OpenAI(base_url=model.url, api_key="any")
        ...
        assert model.requests[1].results == ("…",)

A script is a list of answers, given in order, or a function that makes an answer of a request. It speaks the chat
completions and responses APIs of OpenAI (`url`), the messages API of Anthropic and the one of Gemini (`root`), streamed or
whole.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from metier.values import dataclass

from .model_apis import MODEL_APIS, ModelApi

__all__ = ["ModelAnswer", "ModelRequest", "ModelServer", "Script", "ScriptedCall", "StreamFault", "calls", "fails", "says"]


class StreamFault(StrEnum):
    """The ways in which a stream fails after its first half."""

    CUT = "cut"
    """The connection is closed."""
    GARBLED = "garbled"
    """A chunk is not JSON."""
    ALIEN = "alien"
    """A chunk is JSON of another shape."""


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A call of a tool. `arguments` may be any text, because models write broken JSON too."""

    tool: str
    arguments: Mapping[str, object] | str = ""
    id: str = ""

    @property
    def json(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """One answer of the model. See `says`, `calls` and `fails` for the usual ones."""

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    status: int = 200
    retry_after: float | None = None
    """The header of a rate limit, in seconds."""
    delay: float = 0.0
    """Seconds before the first byte."""
    pause: float = 0.0
    """Seconds between the chunks of a stream."""
    fault: StreamFault | None = None
    cut_off: bool = False
    """The answer ends at the limit of tokens for one answer."""
    tokens: tuple[int, int] | None = None
    """Of the request and of the answer; without them, a quarter of the characters."""


def says(text: str, **more: Any) -> ModelAnswer:  # Any: fields of Said
    return ModelAnswer(text=text, **more)


def calls(tool: str, **arguments: object) -> ModelAnswer:
    """An answer that calls one tool. For several at once, or broken arguments, make a Said with Calls."""
    return ModelAnswer(calls=(ScriptedCall(tool, arguments),))


def fails(status: int, message: str = "scripted failure", *, retry_after: float | None = None) -> ModelAnswer:
    return ModelAnswer(status=status, text=message, retry_after=retry_after)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request as it arrived, with accessors for what each API names differently."""

    path: str
    headers: Mapping[str, str]
    """Names in small letters."""
    body: dict[str, Any]  # Any: JSON
    dialect: ModelApi

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def is_streamed(self) -> bool:
        return bool(self.body.get("stream")) or self.path.endswith(":streamGenerateContent")

    @property
    def system(self) -> str:
        """The system prompt, or all of them."""
        return self.dialect.system(self.body)

    @property
    def user(self) -> str:
        """The last message of the user."""
        return self.dialect.user(self.body)

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that were offered."""
        return self.dialect.tools(self.body)

    @property
    def results(self) -> tuple[str, ...]:
        """All tool results so far, oldest first."""
        return self.dialect.results(self.body)


Script = Iterable[ModelAnswer] | Callable[[ModelRequest], ModelAnswer]


class ModelServer:
    """Runs in a thread from construction to `close`, on a free port. Any number of clients may talk to it at once."""

    def __init__(self, script: Script = ()) -> None:
        self._script = script if callable(script) else _in_order(script)
        self._turn = threading.Lock()
        self._requests: list[ModelRequest] = []
        self._open: set[socket.socket] = set()
        self.closing = threading.Event()
        self.hung_up = 0
        """The number of answers whose client disconnected early."""
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.model = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def root(self) -> str:
        """For clients of Anthropic and Gemini, which add the version themselves."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def url(self) -> str:
        """For clients of OpenAI and everything compatible."""
        return f"{self.root}/v1"

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        return tuple(self._requests)

    def close(self) -> None:
        """Stop, and end every answer that is still under way."""
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        for connection in tuple(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:  # its client was faster
                pass
        self._http.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """Records the request and returns the script's answer. Calls are serialised, so a script needs no lock."""
        with self._turn:
            self._requests.append(request)
            return self._script(request)


def _in_order(script: Iterable[ModelAnswer]) -> Callable[[ModelRequest], ModelAnswer]:
    rest = iter(script)
    # Not a 500: a client would try that again, and a test would wait for it.
    return lambda _: next(rest, fails(400, "the script of this model is over"))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    model: ModelServer

    def process_request(self, request: Any, client_address: Any) -> None:  # Any: as typeshed has it
        self.model._open.add(request)  # noqa: SLF001  (the two halves of one thing)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # Any: as typeshed has it
        self.model._open.discard(request)  # noqa: SLF001
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news; `hung_up` counts them."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        # Otherwise the last chunk of every answer waits 40 ms for an acknowledgement.
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def do_GET(self) -> None:
        if self.path.endswith("/models"):
            self._whole(200, {"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "metier"}]})
        else:
            self._whole(404, {"error": {"message": f"nothing at {self.path}"}})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = self.path.partition("?")[0]
        dialect = next((each for each in MODEL_APIS if path.endswith(each.paths)), None)
        if dialect is None:
            self._whole(404, {"error": {"message": f"nothing at {path}"}})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = ModelRequest(path=path, headers=headers, body=json.loads(body), dialect=dialect)
        model = self.server.model
        said = model.answer(request)
        if model.closing.wait(said.delay):
            return
        try:
            self._say(request, said)
        except OSError:
            model.hung_up += 1
            self.close_connection = True

    def _say(self, request: ModelRequest, said: ModelAnswer) -> None:
        if said.status != 200:
            more = {} if said.retry_after is None else {"retry-after": f"{said.retry_after:g}"}
            self._whole(said.status, request.dialect.error(said.status, said.text), more)
        elif request.is_streamed:
            self._stream(request, said)
        elif said.fault is not None:
            self._broken(said.fault)
        else:
            self._whole(200, request.dialect.whole(said, request.body))

    def _whole(self, status: int, document: object, more: Mapping[str, str] | None = None) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _broken(self, fault: StreamFault) -> None:
        if fault is StreamFault.ALIEN:
            self._whole(200, {"weather": "fine"})
            return
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "100" if fault is StreamFault.CUT else "12")
        self.end_headers()
        self.wfile.write(b'{"choices": ')
        self.close_connection = True

    def _stream(self, request: ModelRequest, said: ModelAnswer) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        events = list(request.dialect.stream(said, request.body))
        for number, event in enumerate(events):
            if said.fault is not None and number == len(events) // 2:
                self._spoil(said.fault)
                if said.fault is StreamFault.CUT:
                    return
            self._chunk(event)
            if said.pause and self.server.model.closing.wait(said.pause):
                self.close_connection = True
                return
        self._chunk(b"")

    def _spoil(self, fault: StreamFault) -> None:
        if fault is StreamFault.CUT:
            self.close_connection = True
        else:
            self._chunk(b'data: {"half": \n\n' if fault is StreamFault.GARBLED else b'data: {"weather": "fine"}\n\n')

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()
