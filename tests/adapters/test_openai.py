"""The two formats of OpenAI, over the real client: what is sent, what a caller sees, and what becomes of their history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from metier.adapters import Skills
from metier.adapters.openai import OpenAISkills
from metier.testing import ModelAnswer, ModelServer, ScriptedCall, calls, says, skill_folder

WEATHER: Any = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
FLAT_WEATHER: Any = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}
LOAD = ScriptedCall("load_skill", {"skill_name": "chart"}, id="call_load")
BOTH = ModelAnswer(text="Let me see.", calls=(LOAD, ScriptedCall("weather", {}, id="call_weather")))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    skill_folder(tmp_path, "chart", body="Ask for the city first.")
    return tmp_path


@pytest.fixture
def client() -> Iterator[OpenAI]:
    with OpenAI(base_url="http://127.0.0.1:9", api_key="any", max_retries=0) as made:
        yield made


def to(client: OpenAI, model: ModelServer) -> OpenAI:
    client.base_url = model.url
    return client


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_calls_of_skill_tools_become_part_of_the_callers_history(root: Path, client: OpenAI) -> None:
    messages: list[Any] = [{"role": "system", "content": "Be brief."}, user("Draw.")]
    with ModelServer([ModelAnswer(calls=(LOAD,)), says("done")]) as model:
        answer = OpenAISkills(root).chat(to(client, model), model="m", messages=messages)
    assert answer.choices[0].message.content == "done"
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool"]
    assert messages[0] == {"role": "system", "content": "Be brief."}, (
        "the catalog is not kept: it is made anew for every request"
    )
    assert "Ask for the city first." in messages[3]["content"]


def test_the_catalog_keeps_the_parts_of_a_structured_system_prompt(root: Path, client: OpenAI) -> None:
    parts = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    messages: list[Any] = [{"role": "developer", "content": parts}, user("Hello")]
    with ModelServer([says("ok")]) as model:
        OpenAISkills(root).chat(to(client, model), model="m", messages=messages)
        sent = model.requests[0].body["messages"]
    assert sent[0]["content"][0] == parts[0]
    assert "available_skills" in sent[0]["content"][1]["text"]
    assert [message["role"] for message in sent] == ["developer", "user"]
    assert len(parts) == 1


def test_without_a_system_prompt_the_catalog_is_one(root: Path, client: OpenAI) -> None:
    with ModelServer([says("ok")]) as model:
        OpenAISkills(root).chat(to(client, model), model="m", messages=[user("Hello")])
        assert model.requests[0].body["messages"][0]["role"] == "system"


def test_calls_of_both_are_distinguished(root: Path, client: OpenAI) -> None:
    messages: list[Any] = [user("Draw.")]
    with ModelServer([BOTH]) as model:
        answer = OpenAISkills(root).chat(to(client, model), model="m", messages=messages, tools=[WEATHER])
    message = answer.choices[0].message
    assert [call.function.name for call in message.tool_calls or () if call.type == "function"] == ["weather"]
    assert message.content == "Let me see."
    assert [call["function"]["name"] for call in messages[1]["tool_calls"]] == ["load_skill"]
    assert messages[2]["tool_call_id"] == "call_load"


def test_a_stream_hides_our_calls_and_passes_text_at_once(root: Path, client: OpenAI) -> None:
    with ModelServer([ModelAnswer(text="Let me see.", calls=(LOAD,)), says("done")]) as model:
        chunks = list(OpenAISkills(root).chat(to(client, model), model="m", messages=[user("Draw.")], stream=True))
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert "".join(delta.content or "" for delta in deltas) == "Let me see.done"
    assert not [delta for delta in deltas if delta.tool_calls]
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices[0].finish_reason] == ["stop"]


def test_usage_of_every_request_of_a_stream_reaches_the_caller(root: Path, client: OpenAI) -> None:
    with ModelServer([ModelAnswer(calls=(LOAD,)), says("done")]) as model:
        given: Any = {"stream_options": {"include_usage": True}}
        chunks = list(OpenAISkills(root).chat(to(client, model), model="m", messages=[user("Draw.")], stream=True, **given))
    assert len([chunk for chunk in chunks if chunk.usage]) == 2


def test_a_caller_may_leave_a_stream(root: Path, client: OpenAI) -> None:
    with ModelServer([says("one two three four")]) as model:
        stream = OpenAISkills(root).chat(to(client, model), model="m", messages=[user("Draw.")], stream=True)
        next(stream)
        stream.close()  # type: ignore[attr-defined]  # a generator


def test_a_model_that_never_stops_calling_must_answer_in_the_last_round(root: Path, client: OpenAI) -> None:
    def script(request: Any) -> ModelAnswer:
        return says("enough") if request.body.get("tool_choice") == "none" else calls("list_skills")

    for stream in (False, True):
        with ModelServer(script) as model:
            adapter = OpenAISkills(root, rounds=4)
            answer: Any = adapter.chat(to(client, model), model="m", messages=[user("Draw.")], stream=stream)
            text = (
                "".join(chunk.choices[0].delta.content or "" for chunk in answer)
                if stream
                else answer.choices[0].message.content
            )
            assert text == "enough"
            assert len(model.requests) == 4


def test_a_model_that_does_not_even_then_stop_is_handed_to_the_caller(root: Path, client: OpenAI) -> None:
    for stream in (False, True):
        with ModelServer(lambda _: calls("list_skills")) as model:
            answer: Any = OpenAISkills(root, rounds=2).chat(to(client, model), model="m", messages=[user("x")], stream=stream)
            assert list(answer) if stream else answer.choices[0].message.tool_calls
            assert len(model.requests) == 2


def test_a_tool_of_the_callers_with_our_name_is_theirs(root: Path, client: OpenAI) -> None:
    own: Any = {"type": "function", "function": {"name": "load_skill", "parameters": {"type": "object", "properties": {}}}}
    with ModelServer([ModelAnswer(calls=(LOAD,))]) as model:
        answer = OpenAISkills(root).chat(to(client, model), model="m", messages=[user("x")], tools=[own])
        assert model.requests[0].tools.count("load_skill") == 1
    assert answer.choices[0].message.tool_calls


def test_an_error_of_the_model_is_the_callers(root: Path, client: OpenAI) -> None:
    from openai import RateLimitError

    from metier.testing import fails

    with ModelServer([ModelAnswer(calls=(LOAD,)), fails(429)]) as model, pytest.raises(RateLimitError):
        OpenAISkills(root).chat(to(client, model), model="m", messages=[user("Draw.")])


def test_a_server_that_keeps_the_conversation_is_sent_only_what_is_new(root: Path, client: OpenAI) -> None:
    with ModelServer([ModelAnswer(calls=(LOAD,)), says("done")]) as model:
        response = OpenAISkills(root).respond(to(client, model), model="m", input="Draw.", previous_response_id="resp_before")
        first, second = model.requests
    assert response.output_text == "done"
    assert (first.body["previous_response_id"], second.body["previous_response_id"]) == ("resp_before", "resp_scripted")
    assert [item["type"] for item in second.body["input"]] == ["function_call_output"]
    assert "available_skills" in second.system, "instructions are not kept by the server"


def test_results_that_the_server_still_has_to_get_go_with_the_callers_next_request(root: Path, client: OpenAI) -> None:
    adapter = OpenAISkills(root)
    with ModelServer([BOTH, says("done")]) as model:
        to(client, model)
        response = adapter.respond(client, model="m", input="Draw.", previous_response_id="resp_before", tools=[FLAT_WEATHER])
        assert [item.name for item in response.output if item.type == "function_call"] == ["weather"]
        result: Any = {"type": "function_call_output", "call_id": "call_weather", "output": "sunny"}
        adapter.respond(client, model="m", input=[result], previous_response_id=response.id, tools=[FLAT_WEATHER])
        sent = {item["call_id"] for item in model.requests[-1].body["input"]}
    assert sent == {"call_load", "call_weather"}


def test_items_of_a_stateless_conversation_are_added_to_the_callers_input(root: Path, client: OpenAI) -> None:
    items: list[Any] = [user("Draw.")]
    with ModelServer([BOTH]) as model:
        given: Any = {"input": items, "tools": [FLAT_WEATHER]}
        response = OpenAISkills(root).respond(to(client, model), model="m", **given)
    assert [item.get("type") for item in items] == [None, "function_call", "function_call_output"]
    assert [item.type for item in response.output] == ["message", "function_call"]


def test_a_conversation_of_skills_can_be_shared_and_named(root: Path, client: OpenAI) -> None:
    shared = Skills(root)
    with ModelServer([ModelAnswer(calls=(LOAD,)), says("done")]) as model:
        OpenAISkills(shared, conversation="forty-two").chat(to(client, model), model="m", messages=[user("Draw.")])
    assert shared.session("forty-two").active_names == ("chart",)
    assert shared.session("other").active_names == ()
