"""Stored messages: what pydantic-ai writes we read, what we write it reads, and no field is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from engine_builders import COUNT, app_of, home_skill, talk
from metier.models import MessagePart, PartKind, TranscriptMessage, dump_messages, load_messages
from metier.testing import ModelServer, calls, says

THEIRS: list[ModelMessage] = [
    ModelRequest(parts=[UserPromptPart(content="hi"), ToolReturnPart(tool_name="t", content={"a": 1}, tool_call_id="c")]),
    ModelResponse(
        parts=[
            ThinkingPart(content="h", id="r1", signature="secret", provider_name="anthropic", provider_details={"a": [1]}),
            TextPart(content="yes"),
            ToolCallPart(tool_name="t", args={"a": 1}, tool_call_id="c1"),
            ToolCallPart(tool_name="t", args='{"broken', tool_call_id="c2"),
        ],
        usage=RequestUsage(input_tokens=3, output_tokens=4, cache_read_tokens=1, cache_write_tokens=2),
        model_name="m", finish_reason="tool_call", provider_name="anthropic", provider_response_id="r1",
    ),
]  # fmt: skip


def test_no_field_of_theirs_is_lost() -> None:
    stored = ModelMessagesTypeAdapter.dump_json(THEIRS)
    again = ModelMessagesTypeAdapter.validate_json(dump_messages(load_messages(stored)))
    assert again[0] == THEIRS[0]
    answer: Any = again[1]
    # Arguments become text; it is the same object to every provider.
    assert answer.parts[2].args_as_dict() == {"a": 1}
    answer.parts[2].args = {"a": 1}
    assert answer == THEIRS[1]


def test_they_read_what_we_write() -> None:
    ours = [
        TranscriptMessage(parts=(MessagePart(kind=PartKind.USER, content="hi"),)),
        TranscriptMessage(
            is_answer=True, model="m", provider="openai", id="x", finish_reason="stop", input_tokens=3,
            parts=(
                MessagePart(kind=PartKind.TEXT, content=""),
                MessagePart(kind=PartKind.TOOL_CALL, tool="t", call_id="c", arguments="{}"),
            ),
        ),
        TranscriptMessage(parts=(MessagePart(kind=PartKind.TOOL_RETURN, tool="t", call_id="c", content=""),)),
    ]  # fmt: skip
    read = ModelMessagesTypeAdapter.validate_json(dump_messages(ours))
    assert [type(part).__name__ for message in read for part in message.parts] == [
        "UserPromptPart", "TextPart", "ToolCallPart", "ToolReturnPart",
    ]  # fmt: skip
    assert load_messages(dump_messages(ours)) == tuple(ours)


@pytest.mark.parametrize(
    "data", [b"[1]", b"{}", b"not json", b'[{"kind": "response"}]', b'[{"parts": [{}], "kind": "request"}]']
)
def test_what_cannot_be_read_is_left_out(data: bytes) -> None:
    assert load_messages(data) == ()


@pytest.mark.parametrize("first", ["gpt-4o", "openai-responses:gpt-5", "anthropic:claude-test"])
@pytest.mark.parametrize("second", ["gpt-4o", "openai-responses:gpt-5", "anthropic:claude-test"])
def test_a_conversation_continues_with_another_provider(tmp_path: Path, first: str, second: str) -> None:
    home_skill(tmp_path, "counter", head="triggers:\n  keywords: [count]", files={"scripts/count.py": COUNT})
    with ModelServer([calls("counter_count", args=["a b"]), says("Two."), says("Two, I said.")]) as model:
        for name, message in ((first, "count"), (second, "sure?")):
            url = model.root if name.startswith("anthropic") else model.url
            keys = {"OPENAI_API_KEY": "a-key", "ANTHROPIC_API_KEY": "a-key"}
            talk(app_of(tmp_path, None, METIER_MODEL_NAME=name, METIER_MODEL_BASE_URL=url, **keys), message, id="mine")
        last = model.requests[-1]
    assert ("2 words" in last.results[0], "Two." in str(last.body), last.user) == (True, True, "sure?")
