"""A model over plain HTTP, and one sentence for every way in which it is not there."""

from __future__ import annotations

from typing import Any

import pytest

from metier.errors import UnavailableError
from metier.evals.chat import Answer, Endpoint, HttpChat, endpoint
from metier.runtime import Tool, ToolReply, object_schema
from metier.testing import Call, Fault, ModelServer, Said, calls, fails, run_now, says


async def _work(_: dict[str, Any]) -> ToolReply:
    return ToolReply(text="")


TOOL = Tool(name="add", description="Adds.", schema=object_schema({"a": {"type": "integer"}}), work=_work)


def ask(server: ModelServer, *, key: str = "", tools: tuple[Tool, ...] = (), seconds: float = 10) -> Answer:
    async def go() -> Answer:
        where = Endpoint(model="tiny", base_url=server.url, key=key)
        async with HttpChat(where, seconds=seconds, pause=0.01) as chat:
            return await chat([{"role": "user", "content": "Hi"}], tools)

    return run_now(go())


def test_text_tokens_model_and_key_go_through() -> None:
    with ModelServer([says("Hello", tokens=(7, 5))]) as server:
        answer = ask(server, key="secret")
        (seen,) = server.requests
    assert (answer.text, answer.tokens, answer.calls) == ("Hello", 12, ())
    assert (seen.model, seen.user, seen.headers["authorization"]) == ("tiny", "Hi", "Bearer secret")


def test_without_a_key_none_is_sent() -> None:
    with ModelServer([says("Hello")]) as server:
        ask(server)
        assert "authorization" not in server.requests[0].headers


def test_tools_are_offered_and_their_calls_read() -> None:
    with ModelServer([Said(calls=(Call("add", {"a": 1}), Call("add", '{"a": '), Call("add", "[1]")))]) as server:
        answer = ask(server, tools=(TOOL,))
        assert server.requests[0].tools == ("add",)
    assert [(call.tool, call.arguments) for call in answer.calls] == [("add", {"a": 1}), ("add", None), ("add", None)]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_model_is_asked_again(status: int) -> None:
    with ModelServer([fails(status, retry_after=0), fails(status), says("at last")]) as server:
        assert ask(server).text == "at last"


def test_a_model_that_stays_busy_is_unavailable() -> None:
    with ModelServer(lambda _: fails(503, "overloaded", retry_after=0)) as server:
        with pytest.raises(UnavailableError, match="answered 503: overloaded") as told:
            ask(server)
        assert len(server.requests) == 4
    assert told.value.retryable


def test_a_wrong_key_is_told_at_once() -> None:
    with ModelServer(lambda _: fails(401, "bad key")) as server:
        with pytest.raises(UnavailableError, match="answered 401: bad key") as told:
            ask(server)
        assert (len(server.requests), "key" in told.value.hint) == (1, True)


@pytest.mark.parametrize("fault", [Fault.ALIEN, Fault.GARBLED])
def test_something_else_than_a_completion_is_told(fault: Fault) -> None:
    with ModelServer(lambda _: Said(fault=fault)) as server, pytest.raises(UnavailableError, match="no chat completion"):
        ask(server)


def test_a_lost_connection_is_tried_again_and_then_told() -> None:
    with ModelServer([Said(fault=Fault.CUT), says("again")]) as server:
        assert ask(server).text == "again"
    with ModelServer(lambda _: Said(fault=Fault.CUT)) as server, pytest.raises(UnavailableError, match="cannot be reached"):
        ask(server)


def test_a_slow_model_is_given_up() -> None:
    with ModelServer(lambda _: says("late", delay=5)) as server, pytest.raises(UnavailableError, match="cannot be reached"):
        ask(server, seconds=0.2)


def test_nobody_at_the_address_is_one_sentence() -> None:
    with ModelServer() as server:
        pass
    with pytest.raises(UnavailableError, match="cannot be reached") as told:
        ask(server)
    assert "model.base_url" in told.value.hint


def test_names_lead_to_providers() -> None:
    environment = {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "MINE": "m"}
    assert endpoint("openai:gpt-x", environment=environment) == Endpoint(
        model="gpt-x", base_url="https://api.openai.com/v1", key="o"
    )
    assert endpoint("anthropic:c", environment=environment).key == "a"
    local = endpoint("qwen:7b", base_url="http://localhost:11434/v1/", environment={})
    assert (local.model, local.base_url, local.key) == ("qwen:7b", "http://localhost:11434/v1", "")
    assert endpoint("openai:gpt-x", key_variable="MINE", environment=environment).key == "m"
    assert endpoint("ollama:qwen3", environment={}).base_url == "http://localhost:11434/v1"
    for unknown in ("gpt-x", "nobody:gpt-x", "openai:"):
        with pytest.raises(UnavailableError, match="nobody said where the model"):
            endpoint(unknown, environment=environment)
    with pytest.raises(UnavailableError, match="needs a key in ANTHROPIC_API_KEY"):
        endpoint("anthropic:c", environment={})


def test_calls_are_answers_that_can_be_sent_back() -> None:
    with ModelServer([calls("add", a=1)]) as server:
        answer = ask(server, tools=(TOOL,))
    assert answer.message["tool_calls"][0]["id"] == answer.calls[0].id
