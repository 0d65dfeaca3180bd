"""Anthropic's messages API and OpenAI's responses API, asked by our own client."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from metier.errors import UnavailableError
from metier.models import (
    ChatMessage,
    Delta,
    FailureKind,
    Instruction,
    MessagePart,
    ModelChoice,
    ModelClient,
    ModelFailure,
    ModelQuery,
    PartKind,
    ProviderClient,
    RetryPolicy,
    TranscriptMessage,
    choose_model,
    connect,
    dump_messages,
    load_messages,
)
from metier.models.client import _connect_over_http, _uses_library
from metier.models.library import LibraryClient
from metier.runtime import Tool, ToolReply, object_schema
from metier.testing import ModelAnswer, ModelServer, ScriptedCall, StreamFault, fails, run_now, says

ANTHROPIC, RESPONSES = "anthropic:claude-opus-5", "openai-responses:gpt-5"
BOTH = pytest.mark.parametrize("name", [ANTHROPIC, RESPONSES])


async def _work(_: dict[str, Any]) -> ToolReply:
    return ToolReply(text="")


TOOL = Tool(name="add", description="Adds.", schema=object_schema({"a": {"type": "integer"}}), function=_work)
INSTRUCTIONS = (Instruction("Base."), Instruction("Skills.", fixed=False))


def said(text: str, *, kind: PartKind = PartKind.USER) -> TranscriptMessage:
    return TranscriptMessage(parts=(MessagePart(kind=kind, content=text),))


def choice_for(name: str, root: str) -> ModelChoice:
    return ModelChoice(name=name, base_url=root if name.startswith("anthropic:") else f"{root}/v1", key="secret")


async def library(choice: ModelChoice) -> ProviderClient:
    return LibraryClient(await connect(choice).__aenter__(), owned=True)


async def pieces(client: ModelClient | ProviderClient, *messages: TranscriptMessage) -> AsyncIterator[Any]:
    async for piece in client.stream(ModelQuery(messages=messages, instructions=INSTRUCTIONS, tools=(TOOL,), seconds=30)):
        yield piece


def ask(name: str, root: str, *messages: TranscriptMessage) -> tuple[list[Delta], TranscriptMessage]:
    async def go() -> list[Any]:
        async with ModelClient(choice_for(name, root)) as client:
            return [piece async for piece in pieces(client, *(messages or (said("?"),)))]

    *deltas, message = run_now(go())
    return deltas, message


@BOTH
@pytest.mark.parametrize("streamed", [True, False])
def test_a_conversation_with_tools_sends_what_pydantic_ai_sends(name: str, streamed: bool) -> None:
    two_calls = (ScriptedCall("add", {"a": 1}), ScriptedCall("add", {}))
    script = [ModelAnswer(text="Let me.", calls=two_calls, tokens=(9, 2)), says("Two.", tokens=(20, 1))]

    async def talk(choice: ModelChoice, is_library: bool) -> list[TranscriptMessage]:
        client = await library(choice) if is_library else _connect_over_http(choice)
        history = [said("Be brief.", kind=PartKind.SYSTEM), said("1 + 1?")]
        for _ in script:
            query = ModelQuery(messages=tuple(history), instructions=INSTRUCTIONS, tools=(TOOL,), seconds=30)
            if streamed:
                answer = [piece async for piece in client.stream(query)][-1]
                assert isinstance(answer, TranscriptMessage)
            else:
                answer = await client.send(query)
            returned = (
                MessagePart(kind=PartKind.TOOL_RETURN, tool="add", content="2", call_id=c.call_id) for c in answer.calls
            )
            history += [answer, TranscriptMessage(parts=(*returned, MessagePart(kind=PartKind.USER, content="And?")))]
        await client.close()
        return history

    bodies, histories = [], []
    for is_library in (True, False):
        with ModelServer(script) as server:
            choice = choice_for(name, server.root)
            histories.append(run_now(talk(choice, is_library)))
            bodies.append([_comparable(request.body) for request in server.requests])
            assert {request.headers["authorization"] for request in server.requests} == {"Bearer secret"}
    assert bodies[0] == bodies[1]
    kept = [[(part.kind, part.content, part.tool, part.call_id) for part in each.parts] for each in histories[0]]
    assert kept == [[(part.kind, part.content, part.tool, part.call_id) for part in each.parts] for each in histories[1]]
    assert [(each.input_tokens, each.output_tokens) for each in histories[0]] == [
        (each.input_tokens, each.output_tokens) for each in histories[1]
    ]


def _comparable(body: dict[str, Any]) -> dict[str, Any]:
    """Arguments that are JSON in a text, without the spaces in it; the server's ids name the test's calls alike."""
    for item in body.get("input", ()):
        if "arguments" in item:
            item["arguments"] = json.loads(item["arguments"])
    return {key: value for key, value in body.items() if key != "stream" or value}


@BOTH
def test_what_one_client_stored_is_continued_by_the_other(name: str) -> None:
    script = [ModelAnswer(text="Let me.", calls=(ScriptedCall("add", {"a": 1}),)), says("Two.")]
    for writes_library in (True, False):
        with ModelServer(script) as server:
            choice = choice_for(name, server.root)

            async def talk(choice: ModelChoice = choice, writes_library: bool = writes_library) -> str:
                clients = [await library(choice), _connect_over_http(choice)]
                first, second = clients if writes_library else clients[::-1]
                answer = [piece async for piece in pieces(first, said("1 + 1?"))][-1]
                (call,) = answer.calls
                done = MessagePart(kind=PartKind.TOOL_RETURN, tool="add", content="2", call_id=call.call_id)
                history = load_messages(dump_messages([said("1 + 1?"), answer, TranscriptMessage(parts=(done,))]))
                last = [piece async for piece in pieces(second, *history)][-1]
                for client in clients:
                    await client.close()
                assert isinstance(last, TranscriptMessage)
                return last.text

            assert run_now(talk()) == "Two."
            assert server.requests[1].results == ("2",)


@BOTH
@pytest.mark.parametrize(
    ("status", "kind", "temporary"),
    [
        (400, FailureKind.REJECTED, False),
        (401, FailureKind.KEY, False),
        (404, FailureKind.MODEL, False),
        (413, FailureKind.CONTEXT, False),
        (429, FailureKind.RATE, True),
        (500, FailureKind.OTHER, True),
        (529, FailureKind.OTHER, True),
    ],
)
def test_a_status_is_a_failure_with_the_providers_words(name: str, status: int, kind: FailureKind, temporary: bool) -> None:
    with ModelServer([fails(status, "in its words", retry_after=3)]) as server, pytest.raises(ModelFailure) as failure:
        ask(name, server.root)
    found = failure.value
    assert (found.kind, found.detail, found.temporary, found.retry_after) == (kind, "in its words", temporary, 3.0)


@BOTH
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (StreamFault.CUT, FailureKind.CONNECTION),
        (StreamFault.GARBLED, FailureKind.UNREADABLE),
        (StreamFault.ALIEN, FailureKind.UNREADABLE),
    ],
)
def test_a_broken_stream_may_be_asked_for_again(name: str, fault: StreamFault, kind: FailureKind) -> None:
    with ModelServer([says("Hello you there", fault=fault)]) as server, pytest.raises(ModelFailure) as failure:
        ask(name, server.root)
    assert (failure.value.kind, failure.value.temporary) == (kind, True)


@BOTH
def test_busy_servers_are_asked_again_and_slow_ones_given_up(name: str) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def go(root: str, seconds: float) -> str:
        retry = RetryPolicy(sleep=sleep, retries=2)
        async with ModelClient(choice_for(name, root), retry=retry, seconds=seconds) as client:
            return (await client.ask([ChatMessage.user("?")])).text

    with ModelServer([fails(529, retry_after=2), fails(500), says("at last")]) as server:
        assert run_now(go(server.root, 30)) == "at last"
    assert waits[0] == 2
    with ModelServer(lambda _: says("late", delay=60)) as server, pytest.raises(UnavailableError, match="no answer in time"):
        run_now(go(server.root, 0.2))


@BOTH
def test_an_answer_that_was_cut_by_the_limit_says_so(name: str) -> None:
    with ModelServer([says("Hello", cut_off=True)]) as server:
        assert ask(name, server.root)[1].finish_reason == "length"


def test_thinking_is_shown_apart_and_sent_back_with_its_signature() -> None:
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m1", "model": "claude-x", "usage": {
            "input_tokens": 3, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 10, "output_tokens": 1}}},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "hidden"}},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "server_tool_use", "id": "s", "input": {}}},
        {"type": "content_block_start", "index": 3, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta", "text": "Yes."}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9, "input_tokens": None}},
        {"type": "message_stop"},
    ]  # fmt: skip
    with event_server(events) as (root, bodies):
        deltas, message = ask(ANTHROPIC, root)
        ask(ANTHROPIC, root, said("?"), *load_messages(dump_messages([message])), said("more?"))
    assert deltas == [Delta("Hm.", thinking=True), Delta("Yes.")]
    assert (message.text, message.id, message.model, message.finish_reason) == ("Yes.", "m1", "claude-x", "stop")
    assert (message.input_tokens, message.cached_tokens, message.output_tokens) == (33, 20, 9)
    assert message.data()["usage"]["cache_write_tokens"] == 10
    assert bodies[1]["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"}, {"type": "redacted_thinking", "data": "hidden"},
        {"type": "text", "text": "Yes."},
    ]  # fmt: skip


def test_reasoning_of_openai_is_sent_back_encrypted_and_to_its_own_server_only() -> None:
    output = [
        {"type": "reasoning", "id": "rs_1", "encrypted_content": "enc",
         "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]},
        {"type": "web_search_call", "id": "ws_1"},
        {"type": "message", "id": "msg_1", "phase": "final_answer", "content": [{"type": "output_text", "text": "Yes."}]},
    ]  # fmt: skip
    usage = {"input_tokens": 9, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 5}}
    events: list[dict[str, Any]] = [
        {"type": "response.reasoning_summary_text.delta", "delta": "One."},
        {"type": "response.output_text.delta", "delta": "Yes."},
        *({"type": "response.output_item.done", "item": item} for item in output),
        {"type": "response.completed", "response": {"id": "r", "model": "gpt-5", "status": "completed", "usage": usage}},
    ]
    with event_server(events) as (root, bodies), event_server(events) as (other, elsewhere):
        deltas, message = ask(RESPONSES, root)
        (kept,) = load_messages(dump_messages([message]))
        ask(RESPONSES, root, said("?"), kept)
        ask(RESPONSES, other, said("?"), kept)
    assert deltas == [Delta("One.", thinking=True), Delta("Yes.")]
    assert (message.text, message.input_tokens, message.cached_tokens, message.finish_reason) == ("Yes.", 9, 5, "stop")
    reasoning, answer = bodies[1]["input"][1:]
    assert reasoning == output[0]
    assert (answer["id"], answer["phase"], answer["content"][0]["text"]) == ("msg_1", "final_answer", "Yes.")
    assert elsewhere[0]["input"][1:] == [{"role": "assistant", "content": "Yes."}]


@pytest.mark.parametrize(
    ("name", "event", "kind", "temporary"),
    [
        (ANTHROPIC, {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, FailureKind.OTHER, True),
        (ANTHROPIC, {"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}, FailureKind.RATE, True),
        (ANTHROPIC, {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9"}},
         FailureKind.CONTEXT, False),
        (RESPONSES, {"type": "error", "code": "rate_limit_exceeded", "message": "slow"}, FailureKind.RATE, True),
        (RESPONSES, {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "oh"}}},
         FailureKind.OTHER, True),
        (RESPONSES, {"type": "response.failed", "response": {"error": {"code": "invalid_prompt", "message": "no"}}},
         FailureKind.REJECTED, False),
    ],
)  # fmt: skip
def test_an_error_inside_a_stream_is_a_failure(name: str, event: dict[str, Any], kind: FailureKind, temporary: bool) -> None:
    with event_server([{"type": "ping"}, event]) as (root, _), pytest.raises(ModelFailure) as failure:
        ask(name, root)
    assert (failure.value.kind, failure.value.temporary) == (kind, temporary)


def test_a_credit_balance_that_is_too_low_is_a_matter_of_quota() -> None:
    with ModelServer([fails(400, "Your credit balance is too low")]) as server, pytest.raises(ModelFailure) as failure:
        ask(ANTHROPIC, server.root)
    assert failure.value.kind is FailureKind.QUOTA


def test_thinking_that_belongs_to_another_prompt_is_dropped_and_stays_so() -> None:
    refused = fails(400, "messages.1: The block is bound to a different conversation")

    async def go(root: str) -> list[str]:
        async with ModelClient(choice_for(ANTHROPIC, root)) as client:
            return [[piece async for piece in pieces(client, said("?"))][-1].text for _ in range(2)]

    with ModelServer([refused, says("one"), says("two")]) as server:
        assert run_now(go(server.root)) == ["one", "two"]
        asked = [(request.body.get("thinking"), request.headers.get("anthropic-beta")) for request in server.requests]
    drop = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert asked == [(None, None), *[(drop, "thinking-binding-controls-2026-08-01")] * 2]
    with ModelServer([refused, refused]) as server, pytest.raises(ModelFailure):
        run_now(go(server.root))


@BOTH
def test_broken_arguments_of_a_call_can_be_sent_back(name: str) -> None:
    with ModelServer([ModelAnswer(calls=(ScriptedCall("add", '{"a": '),)), says("ok")]) as server:
        _, message = ask(name, server.root)
        assert message.calls[0].arguments == '{"a": '
        ask(name, server.root, said("?"), message)
        assert '{\\"a\\": ' in json.dumps(server.requests[1].body)


@BOTH
def test_a_server_that_does_not_stream_is_read(name: str) -> None:
    whole = {
        ANTHROPIC: {"type": "message", "id": "m", "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 1},
                    "content": [{"type": "text", "text": "Whole."},
                                {"type": "tool_use", "id": "c", "name": "add", "input": {"a": 1}}]},
        RESPONSES: {"id": "r", "status": "completed", "usage": {"input_tokens": 3, "output_tokens": 1}, "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "Whole."}]},
            {"type": "function_call", "call_id": "c", "name": "add", "arguments": '{"a": 1}'}]},
    }[name]  # fmt: skip
    with event_server(whole) as (root, _):
        deltas, message = ask(name, root)
    assert deltas == [Delta("Whole.")]
    assert [(call.tool, call.call_id, call.arguments) for call in message.calls] == [("add", "c", '{"a": 1}')]
    assert (message.finish_reason, message.input_tokens) == ("tool_call", 3)
    with event_server({"weather": "fine"}) as (root, _), pytest.raises(ModelFailure) as failure:
        ask(name, root)
    assert failure.value.kind is FailureKind.UNREADABLE


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("openai:gpt-5", "https://api.openai.com/v1 responses"),
        ("openai-responses:gpt-5", "https://api.openai.com/v1 responses"),
        ("openai-chat:gpt-5", "https://api.openai.com/v1 chat/completions"),
        ("anthropic:claude-opus-5", "https://api.anthropic.com v1/messages"),
    ],
)
def test_providers_have_their_own_addresses(name: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.delenv(variable, raising=False)
    choice = choose_model(name, environment={"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"})
    assert not _uses_library(choice)
    client: Any = _connect_over_http(choice)
    assert f"{client._base} {client._wire.path}" == address


def test_settings_of_the_providers_own_clients_are_left_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _uses_library(ModelChoice(name="anthropic:c")), "it looks for a key in more places"
    for name, variable in (("openai:gpt-5", "OPENAI_ORG_ID"), ("anthropic:c", "ANTHROPIC_CUSTOM_HEADERS")):
        monkeypatch.setenv(variable, "x")
        assert _uses_library(ModelChoice(name=name, key="k"))


@pytest.mark.parametrize("end", ["", "/v1", "/v1/"])
def test_the_address_of_anthropic_may_end_with_the_version(end: str) -> None:
    with ModelServer([says("ok")]) as server:
        assert ask(ANTHROPIC, server.root + end)[1].text == "ok"


@BOTH
def test_no_library_of_others_is_imported(name: str) -> None:
    code = """
import asyncio, sys
from metier.models import ChatMessage, ModelChoice, ModelClient
async def go():
    async with ModelClient(ModelChoice(name=sys.argv[1], base_url=sys.argv[2], key="k")) as model:
        print((await model.ask([ChatMessage.user("Hi")])).text)
asyncio.run(go())
assert not {"pydantic_ai", "openai", "anthropic"} & set(sys.modules)
"""
    with ModelServer([says("Hello")]) as server:
        words = [sys.executable, "-c", code, name, choice_for(name, server.root).base_url]
        assert subprocess.run(words, check=True, capture_output=True, text=True).stdout == "Hello\n"


@contextmanager
def event_server(events: Sequence[dict[str, Any]] | dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that sends these events, or one whole answer, for every request; the list has the bodies of the requests."""
    bodies: list[dict[str, Any]] = []
    is_whole = isinstance(events, dict)
    if isinstance(events, dict):
        answer = json.dumps(events).encode()
    else:
        answer = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name that http.server calls
            bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-type", "application/json" if is_whole else "text/event-stream")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", bodies
        server.shutdown()
        thread.join()
