"""A model over real HTTP, and one sentence for every way in which it can fail."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from metier.errors import UnavailableError, UsageError
from metier.extras import install_command
from metier.models import ChatMessage, ChatRole, Message, ModelChoice, ModelClient, ModelReply, RetryPolicy
from metier.runtime import Tool, ToolReply, object_schema
from metier.testing import ModelAnswer, ModelServer, ScriptedCall, StreamFault, calls, fails, run_now, says


async def _work(_: dict[str, Any]) -> ToolReply:
    return ToolReply(text="")


TOOL = Tool(name="add", description="Adds.", schema=object_schema({"a": {"type": "integer"}}), function=_work)


class Sleeps(list[float]):
    """Records waits instead of waiting."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def ask(
    server: ModelServer,
    *messages: Message,
    name: str = "tiny",
    key: str = "",
    tools: tuple[Tool, ...] = (),
    seconds: float = 60,
    sleeps: Sleeps | None = None,
) -> ModelReply:
    async def go() -> ModelReply:
        choice = ModelChoice(name=name, base_url=server.root if name.startswith("anthropic:") else server.url, key=key)
        retry = RetryPolicy(sleep=Sleeps() if sleeps is None else sleeps)
        async with ModelClient(choice, retry=retry, seconds=seconds) as model:
            return await model.ask(messages or (ChatMessage.user("Hi"),), tools)

    return run_now(go())


@pytest.mark.parametrize("name", ["tiny", "openai:tiny", "openai-chat:tiny", "openai-responses:tiny", "ollama:tiny"])
def test_text_tokens_model_and_key_go_through(name: str) -> None:
    with ModelServer([says("Hello", tokens=(7, 5))]) as server:
        reply = ask(server, name=name, key="secret")
        (seen,) = server.requests
    assert (reply.text, reply.tokens, reply.calls) == ("Hello", 12, ())
    assert (seen.model, seen.user, seen.headers["authorization"]) == ("tiny", "Hi", "Bearer secret")


def test_anthropic_is_asked_in_its_own_protocol() -> None:
    with ModelServer([says("Hello")]) as server:
        assert ask(server, name="anthropic:tiny", key="secret").text == "Hello"
        (seen,) = server.requests
    assert (seen.path, "secret" in str(seen.headers)) == ("/v1/messages", True)


def test_a_server_gets_no_key_that_was_not_chosen_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with ModelServer([says("Hello")]) as server:
        ask(server)
        assert "secret" not in str(server.requests[0].headers)


def test_a_name_with_an_unknown_provider_prefix_belongs_to_the_server() -> None:
    with ModelServer([says("Hello")]) as server:
        ask(server, name="qwen:7b")
        assert server.requests[0].model == "qwen:7b"


def test_tools_are_offered_and_calls_are_read_as_they_were_written() -> None:
    with ModelServer(
        [ModelAnswer(calls=(ScriptedCall("add", {"a": 1}), ScriptedCall("add", '{"a": '), ScriptedCall("add", "[1]")))]
    ) as server:
        reply = ask(server, tools=(TOOL,))
        assert server.requests[0].tools == ("add",)
    assert [(call.tool, call.arguments) for call in reply.calls] == [("add", '{"a": 1}'), ("add", '{"a": '), ("add", "[1]")]


def test_a_reply_can_be_sent_back_with_the_answers_of_its_tools() -> None:
    with ModelServer([calls("add", a=1), says("Two.")]) as server:
        first = ask(server, ChatMessage.system("Be brief."), ChatMessage.user("1 + 1?"), tools=(TOOL,))
        messages: list[Message] = [ChatMessage.system("Be brief."), ChatMessage.user("1 + 1?"), first]
        messages.append(ChatMessage.tool(first.calls[0], "2"))
        assert ask(server, *messages, tools=(TOOL,)).text == "Two."
        request = server.requests[1]
    assert (request.system, request.user, request.results) == ("Be brief.", "1 + 1?", ("2",))


def test_a_transcript_has_the_format_of_chat_completions() -> None:
    with ModelServer([calls("add", a=1)]) as server:
        reply = ask(server, tools=(TOOL,))
    (call,) = reply.calls
    function = {"name": "add", "arguments": '{"a": 1}'}
    assert reply.data() == {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": call.id, "type": "function", "function": function}],
    }
    assert ChatMessage.tool(call, "2").data() == {"role": ChatRole.TOOL, "content": "2", "tool_call_id": call.id}


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_model_is_asked_again(status: int) -> None:
    sleeps = Sleeps()
    with ModelServer([fails(status, retry_after=7), fails(status), says("at last")]) as server:
        assert ask(server, sleeps=sleeps).text == "at last"
    assert (sleeps[0], 0.8 <= sleeps[1] <= 1.2) == (7, True)


def test_a_model_that_stays_busy_is_unavailable() -> None:
    with ModelServer(lambda _: fails(503, "overloaded")) as server:
        with pytest.raises(UnavailableError, match="tiny failed: overloaded") as failure:
            ask(server)
        assert len(server.requests) == 4
    assert failure.value.retryable


def test_a_wait_of_an_hour_is_not_waited_for() -> None:
    sleeps = Sleeps()
    with (
        ModelServer(lambda _: fails(429, "tomorrow", retry_after=3600)) as server,
        pytest.raises(UnavailableError, match="tomorrow"),
    ):
        ask(server, sleeps=sleeps)
    assert not sleeps


@pytest.mark.parametrize(
    ("status", "message", "hint"),
    [
        (401, "tiny rejected the API key: no", "key_variable"),
        (404, "unknown model tiny: no", "model.name"),
        (400, "tiny rejected the request: no", "model.base_url"),
    ],
)
def test_a_permanent_failure_is_raised_at_once(status: int, message: str, hint: str) -> None:
    with ModelServer(lambda _: fails(status, "no")) as server:
        with pytest.raises(UnavailableError, match=message) as failure:
            ask(server)
        assert (len(server.requests), hint in failure.value.hint) == (1, True)
    assert not failure.value.retryable


@pytest.mark.parametrize("fault", [StreamFault.ALIEN, StreamFault.GARBLED])
def test_an_answer_that_is_not_a_completion_is_an_error(fault: StreamFault) -> None:
    with ModelServer(lambda _: ModelAnswer(fault=fault)) as server, pytest.raises(UnavailableError, match="tiny"):
        ask(server)


@pytest.mark.parametrize("fault", [StreamFault.ALIEN, StreamFault.GARBLED, StreamFault.CUT])
def test_a_broken_answer_is_requested_again(fault: StreamFault) -> None:
    with ModelServer([ModelAnswer(fault=fault), says("again")]) as server:
        assert ask(server).text == "again"


def test_an_empty_answer_is_requested_once_more() -> None:
    with ModelServer(lambda _: says("")) as server:
        assert ask(server).text == ""
        assert len(server.requests) == 2


def test_a_slow_model_is_given_up() -> None:
    with ModelServer(lambda _: says("late", delay=60)) as server, pytest.raises(UnavailableError, match="cannot reach tiny"):
        ask(server, seconds=0.2)


def test_a_refused_connection_is_not_retried() -> None:
    sleeps = Sleeps()
    with ModelServer() as server:
        pass
    with pytest.raises(UnavailableError, match="cannot reach tiny") as failure:
        ask(server, sleeps=sleeps)
    assert ("model.base_url" in failure.value.hint, sleeps) == (True, [])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpt-x", "the model name 'gpt-x' has no provider"),
        ("nothing:gpt-x", "nothing:gpt-x"),
        ("openai:gpt-x", "openai:gpt-x needs an API key"),
        ("anthropic:c", "anthropic:c needs an API key"),
    ],
)
def test_missing_settings_are_reported_before_any_request(name: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)

    async def go() -> None:
        async with ModelClient(ModelChoice(name=name)) as model:
            await model.ask([ChatMessage.user("Hi")])

    with pytest.raises(UsageError, match=message):
        run_now(go())


def test_the_client_library_is_imported_by_the_first_request() -> None:
    code = """
import sys
from metier.models import ModelClient, choose_model
ModelClient(choose_model("openai:gpt-x", environment={}))
assert "pydantic_ai" not in sys.modules and "httpx2" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ})


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("google:x", f"the Python package 'pydantic_ai' is not installed | run `{install_command('models')}`"),
        ("openai:x", "openai:x needs an API key | set OPENAI_API_KEY, or name another variable with model.key_variable"),
    ],
)
def test_a_missing_extra_is_one_sentence_with_the_command_that_installs_it(name: str, sentence: str) -> None:
    code = """
import asyncio, sys
sys.modules["pydantic_ai"] = None
from metier.errors import MetierError
from metier.models import ChatMessage, ModelChoice, ModelClient
try:
    asyncio.run(ModelClient(ModelChoice(name=sys.argv[1])).ask([ChatMessage.user("Hi")]))
except MetierError as error:
    print(error, "|", error.hint)
"""
    done = subprocess.run([sys.executable, "-c", code, name], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == sentence
