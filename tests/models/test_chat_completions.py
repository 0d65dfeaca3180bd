"""Answers of servers with the chat completions API, in the forms that servers send."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any

import pytest

from metier.models import (
    Delta,
    FailureKind,
    MessagePart,
    ModelChoice,
    ModelClient,
    ModelFailure,
    ModelQuery,
    PartKind,
    TranscriptMessage,
)
from metier.models.completion_stream import CompletionStream, read_completion
from metier.models.http_client import event_data
from metier.testing import ModelServer, fails, run_now, says


def chunk(finish: str | None = None, **delta: Any) -> str:
    body = {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return f"data: {json.dumps(body)}"


def read(*lines: str) -> tuple[list[Delta], TranscriptMessage]:
    stream = CompletionStream("openai")
    events = [data for data in map(event_data, lines) if data is not None]
    deltas = [delta for event in events for delta in stream.read_chunk(event)]
    return deltas, stream.message()


def test_text_usage_and_the_reason_for_the_end_are_read() -> None:
    used = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    usage = f"data: {json.dumps({'choices': [], 'usage': used})}"
    deltas, message = read(": a comment", "", chunk(content="Hel"), chunk(content="lo"), chunk("stop"), usage, "data: [DONE]")
    assert deltas == [Delta("Hel"), Delta("lo")]
    assert (message.text, message.id, message.model, message.finish_reason) == ("Hello", "c1", "m", "stop")
    assert (message.input_tokens, message.output_tokens, message.cached_tokens) == (9, 2, 4)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_shown_apart_and_sent_back_in_its_field(field: str) -> None:
    deltas, message = read(chunk(**{field: "Hm."}), chunk(content="Yes."), chunk("stop"))
    assert deltas == [Delta("Hm.", thinking=True), Delta("Yes.")]
    with ModelServer([says("ok")]) as server:
        ask(server, TranscriptMessage(parts=(MessagePart(kind=PartKind.USER, content="?"),)), message)
        assert server.requests[0].body["messages"][1] == {"role": "assistant", "content": "Yes.", field: "Hm."}


def test_reasoning_between_tags_is_not_part_of_the_answer() -> None:
    deltas, message = read(
        chunk(content="<think>"), chunk(content="Hm."), chunk(content="</think>\n"), chunk("stop", content="Yes.")
    )
    assert deltas == [Delta("Hm.", thinking=True), Delta("Yes.")]
    assert message.text == "Yes."
    said = {"role": "assistant", "content": "<think>Hm.</think>\n\nYes."}
    whole = read_completion({"id": "c", "model": "m", "choices": [{"message": said}]}, provider="ollama")
    assert [(part.kind, part.content) for part in whole.parts] == [("thinking", "Hm."), ("text", "Yes.")]


@pytest.mark.parametrize(
    "pieces",
    [
        [{"index": 0, "id": "a", "function": {"name": "add", "arguments": ""}}, {"index": 0, "function": {"arguments": "{}"}}],
        [{"id": "a", "function": {"name": "add", "arguments": "{}"}}],
        [{"index": 0, "id": "a", "function": {"name": "add", "arguments": {}}}, {"index": 0, "function": {"arguments": "{}"}}],
    ],
)
def test_calls_are_put_together(pieces: list[dict[str, Any]]) -> None:
    _, message = read(*(chunk(tool_calls=[piece]) for piece in pieces), chunk("tool_calls"))
    (call,) = message.calls
    assert (call.tool, call.arguments, call.call_id, message.finish_reason) == ("add", "{}", "a", "tool_call")


def test_calls_without_an_id_get_one() -> None:
    calls = [{"index": place, "function": {"name": "add", "arguments": "{}"}} for place in (0, 1)]
    _, message = read(chunk(tool_calls=calls), chunk("tool_calls"))
    assert len({call.call_id for call in message.calls if call.call_id}) == 2


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("data: {nonsense", FailureKind.UNREADABLE),
        ('data: {"hello": 1}', FailureKind.UNREADABLE),
        ('data: {"error": {"message": "slow down", "code": 429}}', FailureKind.RATE),
        ('data: {"error": "broken"}', FailureKind.OTHER),
        ('data: {"error": {"message": "long", "code": "context_length_exceeded"}}', FailureKind.CONTEXT),
    ],
)
def test_an_error_inside_a_stream_is_a_failure(line: str, kind: FailureKind) -> None:
    with pytest.raises(ModelFailure) as failure:
        read(chunk(content="Hel"), line)
    assert failure.value.kind is kind


def test_a_stream_that_ends_early_may_be_asked_for_again() -> None:
    with pytest.raises(ModelFailure) as failure:
        read(chunk(content="Hel"))
    assert (failure.value.kind, failure.value.temporary) == (FailureKind.CONNECTION, True)


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "This model's maximum context length is 8192 tokens", FailureKind.CONTEXT),
        (400, "bad tools", FailureKind.REJECTED),
        (402, "pay", FailureKind.QUOTA),
        (403, "no", FailureKind.KEY),
        (418, "no", FailureKind.OTHER),
    ],
)
def test_a_status_is_a_failure_with_the_servers_words(status: int, message: str, kind: FailureKind) -> None:
    with ModelServer([fails(status, message)]) as server, pytest.raises(ModelFailure) as failure:
        ask(server, TranscriptMessage(parts=(MessagePart(kind=PartKind.USER, content="?"),)))
    assert (failure.value.kind, failure.value.detail) == (kind, message)


@pytest.mark.parametrize("kind", ["application/json", "text/html; charset=utf-8"])
def test_a_server_that_does_not_stream_is_read_or_reported(kind: str) -> None:
    said = {"id": "c", "model": "m", "choices": [{"message": {"content": [{"type": "text", "text": "Whole."}]}}]}
    body = json.dumps(said) if "json" in kind else "<h1>Welcome</h1>"
    question = TranscriptMessage(parts=(MessagePart(kind=PartKind.USER, content="?"),))
    with page(body, kind) as server:
        if "json" in kind:
            assert ask(server, question).text == "Whole."
            return
        with pytest.raises(ModelFailure, match="not JSON: <h1>") as failure:
            ask(server, question)
    assert failure.value.kind is FailureKind.UNREADABLE


def test_line_separators_of_unicode_do_not_end_an_event() -> None:
    text = "a\u2028b\u2029c\x85d"
    lines = [chunk(content="PUT"), chunk("stop"), "data: [DONE]", ""]
    body = "\r\n\r\n".join(lines).replace("PUT", text)
    with page(body, "text/event-stream") as server:
        assert ask(server, TranscriptMessage(parts=(MessagePart(kind=PartKind.USER, content="?"),))).text == text


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_an_endless_answer_is_a_failure(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metier.models.http_client._LARGEST_ANSWER", 1000)
    question = TranscriptMessage(parts=(MessagePart(kind=PartKind.USER, content="?"),))
    with page("x" * 100_000, kind) as server, pytest.raises(ModelFailure, match="larger than 1,000 bytes") as failure:
        ask(server, question)
    assert not failure.value.temporary


def test_a_redirect_is_reported_and_not_followed() -> None:
    question = TranscriptMessage(parts=(MessagePart(kind=PartKind.USER, content="?"),))
    with ModelServer([says("stolen")]) as other, page("", "text/html", location=f"{other.url}/chat/completions") as server:
        with pytest.raises(ModelFailure, match="redirects to http") as failure:
            ask(server, question)
        assert other.requests == ()
    assert (failure.value.kind, failure.value.temporary) == (FailureKind.REJECTED, False)


def test_an_address_that_is_not_one_is_a_sentence() -> None:
    async def go() -> None:
        async with ModelClient(ModelChoice(name="m", base_url="localhost:1/v1")) as client:
            async for _ in client.stream(ModelQuery(messages=())):
                pass

    with pytest.raises(ModelFailure, match="localhost:1/v1") as failure:
        run_now(go())
    assert not failure.value.temporary


def test_the_next_request_uses_the_same_connection() -> None:
    question = TranscriptMessage(parts=(MessagePart(kind=PartKind.USER, content="?"),))

    async def go(url: str) -> list[int]:
        async with ModelClient(ModelChoice(name="tiny", base_url=url)) as client:
            return [len([piece async for piece in client.stream(ModelQuery(messages=(question,)))]) for _ in range(3)]

    with counted_server() as (server, ports):
        assert run_now(go(f"http://127.0.0.1:{server.server_port}")) == [2, 2, 2]
    assert len(ports) == 3
    assert len(set(ports)) == 1


def test_a_compatible_server_is_asked_without_the_libraries_of_others() -> None:
    code = """
import asyncio, sys
from metier.models import ChatMessage, ModelChoice, ModelClient
async def go():
    async with ModelClient(ModelChoice(name="openai:tiny", base_url=sys.argv[1])) as model:
        print((await model.ask([ChatMessage.user("Hi")])).text)
asyncio.run(go())
assert not {"pydantic_ai", "openai", "anthropic"} & set(sys.modules)
"""
    with ModelServer([says("Hello")]) as server:
        done = subprocess.run([sys.executable, "-c", code, server.url], check=True, capture_output=True, text=True)
    assert done.stdout == "Hello\n"


@contextmanager
def counted_server() -> Iterator[tuple[HTTPServer, list[int]]]:
    """A server that streams an answer and keeps connections open; the list has the client's port for each request."""
    ports: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:  # the name that http.server calls
            ports.append(self.client_address[1])
            self.rfile.read(int(self.headers["content-length"]))
            lines = "\n\n".join((chunk(content="ok"), chunk("stop"), "data: [DONE]", "")).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(lines), lines))
            self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server, ports
        server.shutdown()
        thread.join()


class Page:
    """A server that answers every request with one page."""

    def __init__(self, url: str) -> None:
        self.url = url


@contextmanager
def page(body: str, kind: str, *, location: str = "") -> Iterator[Page]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name that http.server calls
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(307 if location else 200)
            self.send_header("location", location)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body.encode())))
            self.end_headers()
            with suppress(BrokenPipeError, ConnectionResetError):
                self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Page(f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()


def ask(server: ModelServer | Page, *messages: TranscriptMessage) -> TranscriptMessage:
    async def go() -> TranscriptMessage:
        async with ModelClient(ModelChoice(name="tiny", base_url=server.url)) as client:
            pieces = [piece async for piece in client.stream(ModelQuery(messages=messages))]
        assert isinstance(pieces[-1], TranscriptMessage)
        return pieces[-1]

    return run_now(go())
