"""Recordings: which requests are the same, and what is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metier.errors import ConflictError, NotFoundError
from metier.evals import NotRecordedError, open_recording, start_recording
from metier.evals.agent.conversation import AgentTurn, TurnKind, count_tokens, loaded_skills, read_turns
from metier.evals.agent.recorded_answers import RecordedAnswer, request_digest


def user(text: str) -> AgentTurn:
    return AgentTurn(kind=TurnKind.USER, text=text)


def digest(text: str, *, scope: str = "a", model: str = "m") -> str:
    return request_digest(model, [user(text)], scope=scope, has_tools=True, home="/tmp/metier-eval-x1/home")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Today is 2026-11-18.", "Today is 2027-01-02."),
        ("It is Wednesday, November 18, 2026 here", "It is Friday, January 1, 2027 here"),
        ("at 2026-11-18T11:20:52Z", "at 2026-11-19T01:02:03.456+01:00"),
        ("id 6f1c1c0e-0d8e-4c55-9a39-0d7cf2f3a001", "id 00000000-0d8e-4c55-9a39-0d7cf2f3a002"),
        ("read /tmp/metier-eval-x1/home/a.txt", "read /home/user/a.txt"),
        ("in /tmp/abc123/x", "in /tmp/def456/y"),
        ("<system-reminder>\nlinux 6.1\n</system-reminder>go", "<system-reminder>\nlinux 6.9\n</system-reminder>go"),
        ("<environment_context>\n<shell>bash</shell>\n</environment_context>go", "go"),
        ("took 1.5 seconds", "took 22 seconds"),
        ("http://127.0.0.1:4000/x", "http://127.0.0.1:5123/x"),
    ],
)
def test_dates_ids_and_paths_do_not_count(one: str, other: str) -> None:
    assert digest(one) == digest(other)


def test_words_skills_and_models_count() -> None:
    assert len({digest("a"), digest("b"), digest("a", scope="b"), digest("a", model="n")}) == 4


def test_answers_are_given_in_order_and_then_there_are_none(tmp_path: Path) -> None:
    turns = [user("fill it")]
    made = start_recording(str(tmp_path / "r"), {"agent": "codex"})
    for body in ("one", "two"):
        made.add("d", turns, RecordedAnswer(status=200, content_type="text/plain", body=body))
    again = open_recording(str(tmp_path / "r"), agent="codex")
    assert [again.next("d", turns, has_tools=True).body for _ in range(2)] == ["one", "two"]
    with pytest.raises(NotRecordedError, match="has 2 answers to this request, and it was asked again: 'fill it'"):
        again.next("d", turns, has_tools=True)
    assert again.next("d", turns, has_tools=False).body == "two"
    with pytest.raises(NotRecordedError, match="has no answer to a request"):
        again.next("e", turns, has_tools=False)


def test_a_recording_is_neither_overwritten_nor_taken_from_another_agent(tmp_path: Path) -> None:
    folder = str(tmp_path / "r")
    start_recording(folder, {"agent": "codex"}).add("d", [], RecordedAnswer(status=200, content_type="text/plain", body=""))
    with pytest.raises(ConflictError, match="is not empty"):
        start_recording(folder, {"agent": "codex"})
    with pytest.raises(ConflictError, match="was recorded with codex"):
        open_recording(folder, agent="opencode")
    with pytest.raises(NotFoundError, match="has no recording"):
        open_recording(str(tmp_path), agent="codex")


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "name": "Skill", "input": {"skill": "pdf"}}]}]},
        {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "name": "Skill", "input": {"skill": "my:pdf"}}]}]},
        {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "skill", "arguments": '{"name": "pdf"}'}}]}]},
        {
            "input": [
                {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "cat ~/.agents/skills/pdf/SKILL.md"}'}
            ]
        },
        {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "activate_skill", "args": {"name": "pdf"}}}]}]},
    ],
)
def test_a_load_is_seen_in_every_api(body: dict[str, object]) -> None:
    assert loaded_skills(read_turns(body), ["pdf", "pdf-forms"]) == ("pdf",)


def test_a_skill_that_is_only_mentioned_was_not_loaded() -> None:
    said = {
        "messages": [
            {"role": "user", "content": "read skills/pdf/SKILL.md"},
            {"role": "assistant", "content": "I read /pdf/SKILL.md"},
        ]
    }
    assert loaded_skills(read_turns(said), ["pdf"]) == ()


def test_tokens_are_counted_in_every_api() -> None:
    anthropic = [{"type": "message_start", "message": {"usage": {"input_tokens": 10, "cache_read_input_tokens": 5}}},
                 {"type": "message_delta", "usage": {"output_tokens": 3}}]  # fmt: skip
    assert count_tokens("".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in anthropic)) == 18
    assert count_tokens(json.dumps({"usage": {"prompt_tokens": 7, "completion_tokens": 2}})) == 9
    assert count_tokens(f"data: {json.dumps({'response': {'usage': {'input_tokens': 4, 'output_tokens': 1}}})}\n\n") == 5
    assert count_tokens(json.dumps({"usageMetadata": {"promptTokenCount": 6, "candidatesTokenCount": 2}})) == 8
    assert count_tokens("not json") == 0
