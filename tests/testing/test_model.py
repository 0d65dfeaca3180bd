"""The scripted model, asked by the SDKs that people use."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from guards import eventually
from metier.testing import ModelAnswer, ModelRequest, ModelServer, ScriptedCall, StreamFault, calls, fails, says

TOOL: Any = {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {}}}


def ask(model: ModelServer, text: str = "Hi", *, retries: int = 0) -> Any:
    with openai.OpenAI(base_url=model.url, api_key="secret", max_retries=retries) as client:
        return client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])


@pytest.fixture(params=[True, False], ids=["streamed", "whole"])
def streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_answers_come_in_the_order_of_the_script() -> None:
    with ModelServer([says("one"), says("two")]) as model:
        assert [ask(model).choices[0].message.content for _ in range(2)] == ["one", "two"]


def test_a_script_that_is_over_says_so_and_is_not_asked_again() -> None:
    with ModelServer() as model:
        with pytest.raises(openai.BadRequestError, match="the script of this model is over"):
            ask(model, retries=3)
        assert len(model.requests) == 1


def test_a_script_may_be_a_function_of_the_request() -> None:
    with ModelServer(lambda request: says(request.user[::-1])) as model:
        assert ask(model, "abc").choices[0].message.content == "cba"


def test_requests_are_kept_as_they_arrived() -> None:
    call: Any = {"name": "add", "arguments": "{}"}
    with ModelServer([says("ok")]) as model:
        with openai.OpenAI(base_url=model.url, api_key="secret") as client:
            client.chat.completions.create(
                model="m",
                tools=[{"type": "function", "function": TOOL}],
                messages=[
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": [{"type": "text", "text": "Add"}]},
                    {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": call}]},
                    {"role": "tool", "tool_call_id": "1", "content": "3"},
                ],
            )  # fmt: skip
        (seen,) = model.requests
    assert (seen.path, seen.model, seen.is_streamed) == ("/v1/chat/completions", "m", False)
    assert (seen.system, seen.user, seen.tools, seen.results) == ("Be brief.", "Add", ("add",), ("3",))
    assert seen.headers["authorization"] == "Bearer secret"


def test_chat_completions_carry_text_calls_and_usage(streamed: bool) -> None:
    said = ModelAnswer(text="Let me add.", calls=(ScriptedCall("add", {"a": 1}), ScriptedCall("add", '{"a": ')), tokens=(7, 5))
    with ModelServer([said]) as model, openai.OpenAI(base_url=model.url, api_key="x") as client:
        if streamed:
            parts: dict[int, tuple[str, str]] = {}
            text, usage = "", None
            for chunk in client.chat.completions.create(
                model="m", messages=[], stream=True, stream_options={"include_usage": True}
            ):
                usage = chunk.usage or usage
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    for call in choice.delta.tool_calls or ():
                        assert call.function is not None
                        name, before = parts.get(call.index, ("", ""))
                        parts[call.index] = (name or call.function.name or "", before + (call.function.arguments or ""))
            found = list(parts.values())
        else:
            answer = client.chat.completions.create(model="m", messages=[])
            message, usage = answer.choices[0].message, answer.usage
            text = message.content or ""
            found = [(c.function.name, c.function.arguments) for c in message.tool_calls or () if c.type == "function"]
    assert (text, found) == ("Let me add.", [("add", '{"a": 1}'), ("add", '{"a": ')])
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (7, 5)


def test_responses_carry_text_calls_and_usage(streamed: bool) -> None:
    said = ModelAnswer(text="Let me add.", calls=(ScriptedCall("add", {"a": 1}),), tokens=(7, 5))
    with ModelServer([said]) as model, openai.OpenAI(base_url=model.url, api_key="x") as client:
        given: Any = [
            {"role": "user", "content": "Add"},
            {"type": "function_call", "call_id": "1", "name": "add", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": "3"},
        ]
        tools: Any = [{"type": "function", "strict": False, **TOOL}]
        if streamed:
            with client.responses.stream(model="m", instructions="Be brief.", input=given, tools=tools) as stream:
                pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
                answer: Any = stream.get_final_response()
            assert pieces == ["Let ", "me ", "add."]
        else:
            answer = client.responses.create(model="m", instructions="Be brief.", input=given, tools=tools)
        (seen,) = model.requests
    assert answer.output_text == "Let me add."
    assert [(item.name, item.arguments) for item in answer.output if item.type == "function_call"] == [("add", '{"a": 1}')]
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (7, 5)
    assert (seen.system, seen.user, seen.tools, seen.results) == ("Be brief.", "Add", ("add",), ("3",))


def test_messages_carry_text_calls_and_usage(streamed: bool) -> None:
    said = ModelAnswer(text="Let me add.", calls=(ScriptedCall("add", {"a": 1}),), tokens=(7, 5))
    with ModelServer([said]) as model, anthropic.Anthropic(base_url=model.root, api_key="x") as client:
        given: Any = {
            "model": "m", "max_tokens": 9, "system": "Be brief.",
            "tools": [{"name": "add", "input_schema": {"type": "object"}}],
            "messages": [
                {"role": "user", "content": "Add"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "add", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "3"}]},
            ],
        }  # fmt: skip
        if streamed:
            with client.messages.stream(**given) as stream:
                assert list(stream.text_stream) == ["Let ", "me ", "add."]
                answer: Any = stream.get_final_message()
        else:
            answer = client.messages.create(**given)
        (seen,) = model.requests
    text, call = answer.content
    assert (text.type, call.type) == ("text", "tool_use")
    assert (call.name, call.input) == ("add", {"a": 1})
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.stop_reason) == (7, 5, "tool_use")
    assert (seen.system, seen.user, seen.tools, seen.results) == ("Be brief.", "Add", ("add",), ("3",))


def test_a_rate_limit_says_how_long_to_wait_and_the_client_retries() -> None:
    limited = fails(429, "slow down", retry_after=0.3)
    with ModelServer([limited, limited, says("ok")]) as model:
        with pytest.raises(openai.RateLimitError) as raised:
            ask(model, retries=0)
        assert float(raised.value.response.headers["retry-after"]) == 0.3
        assert ask(model, retries=1).choices[0].message.content == "ok"
        assert len(model.requests) == 3


def test_errors_arrive_as_the_api_words_them() -> None:
    with ModelServer([fails(401, "who are you?")]) as model, pytest.raises(openai.AuthenticationError, match="who are you"):
        ask(model)
    with (
        ModelServer([fails(529, "busy")]) as model,
        anthropic.Anthropic(base_url=model.root, api_key="x", max_retries=0) as client,
        pytest.raises(anthropic.APIStatusError, match="overloaded_error"),
    ):
        client.messages.create(model="m", max_tokens=9, messages=[])


def test_a_slow_answer_runs_into_the_client_s_time_limit() -> None:
    with (
        ModelServer([says("late", delay=30)]) as model,
        openai.OpenAI(base_url=model.url, api_key="x", max_retries=0, timeout=0.2) as client,
        pytest.raises(openai.APITimeoutError),
    ):
        client.chat.completions.create(model="m", messages=[])


def streaming(client: openai.OpenAI) -> Iterator[str]:
    for chunk in client.chat.completions.create(model="m", messages=[], stream=True):
        yield chunk.choices[0].delta.content or ""


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (StreamFault.CUT, openai.APIConnectionError),
        (StreamFault.GARBLED, json.JSONDecodeError),
        (StreamFault.ALIEN, (TypeError, AttributeError)),
    ],
)
def test_a_stream_breaks_half_way(fault: StreamFault, error: type[Exception]) -> None:
    with (
        ModelServer([says("one two three four", fault=fault)]) as model,
        openai.OpenAI(base_url=model.url, api_key="x") as client,
    ):
        stream = streaming(client)
        heard = [next(stream), next(stream)]
        with pytest.raises(error):
            list(stream)
    assert heard == ["", "one "]


@pytest.mark.parametrize("fault", [StreamFault.CUT, StreamFault.GARBLED])
def test_a_whole_answer_may_be_broken_too(fault: StreamFault) -> None:
    with ModelServer([says("one", fault=fault)]) as model, pytest.raises((openai.APIConnectionError, json.JSONDecodeError)):
        ask(model)


def test_chunks_arrive_one_by_one() -> None:
    # The second chunk would come in a day: the first arrives without it.
    model = ModelServer([says("one two three", pause=86_400)])
    with openai.OpenAI(base_url=model.url, api_key="x", max_retries=0) as client:
        assert next(streaming(client)) is not None
        model.close()


def test_a_client_that_hangs_up_is_counted() -> None:
    with ModelServer([says("word " * 500, pause=0.01)]) as model:
        with openai.OpenAI(base_url=model.url, api_key="x") as client:
            stream = client.chat.completions.create(model="m", messages=[], stream=True)
            next(iter(stream))
            stream.close()
        eventually(lambda: model.hung_up == 1, "the server noticed that the client hung up")


def test_closing_does_not_wait_for_slow_answers() -> None:
    model = ModelServer([says("word " * 100, pause=86_400)])
    with openai.OpenAI(base_url=model.url, api_key="x", max_retries=0) as client:
        stream = streaming(client)
        next(stream)
        model.close()
        with pytest.raises(openai.APIError):
            list(stream)


def test_a_hundred_clients_are_answered_at_once() -> None:
    def script(request: ModelRequest) -> ModelAnswer:
        return says(request.user, delay=0.2)

    async def all_of_them(url: str) -> list[str | None]:
        async with openai.AsyncOpenAI(base_url=url, api_key="x", max_retries=0) as client:
            answers = await asyncio.gather(
                *(
                    client.chat.completions.create(model="m", messages=[{"role": "user", "content": str(number)}])
                    for number in range(100)
                )
            )
        return [answer.choices[0].message.content for answer in answers]

    with ModelServer(script) as model:
        assert asyncio.run(all_of_them(model.url)) == [str(number) for number in range(100)]


def test_calls_is_short_for_one_call() -> None:
    assert calls("load_skill", name="pdf") == ModelAnswer(calls=(ScriptedCall("load_skill", {"name": "pdf"}),))


def test_the_server_loads_no_sdk_and_no_other_package() -> None:
    code = (
        "import sys; from metier.testing import ModelServer\n"
        "heavy = {'numpy', 'click', 'rich', 'openai', 'pydantic', 'httpx', 'metier.runtime', 'metier.app'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
