"""Readers of transcripts, over small files that the tests write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from metier.hosts.transcripts import (
    LoadedBy,
    StepKind,
    ToolStep,
    Transcript,
    find_transcripts,
    summarize_loads,
    summarize_transcript,
    transcript_events,
)
from metier.hosts.transcripts.records import skills_read_by
from transcript_files import START, Row, claude_session, codex_session, gemini_session, iso, opencode_session, write_lines


def read(home: Path, **environment: str) -> list[Transcript]:
    return [summarize_transcript(file, transcript_events(file)) for file in find_transcripts(str(home), environment)]


def test_each_agent_is_read_to_the_same_values(tmp_path: Path) -> None:
    claude_session(tmp_path, "c1", ["fill the form"], loads=["pdf-forms"])
    codex_session(tmp_path, "x1", ["fill the form"], command="cat /s/pdf-forms/SKILL.md")
    gemini_session(tmp_path, "g1", ["fill the form"], loads=["pdf-forms"])
    opencode_session(tmp_path, "ses_1", "fill the form", loads=["pdf-forms"])
    found = {one.agent: one for one in read(tmp_path)}
    assert found.keys() == {"claude-code", "codex", "gemini-cli", "opencode"}
    for one in found.values():
        assert [request.text for request in one.requests] == ["fill the form"]
        assert [load.skill for load in one.loads] == ["pdf-forms"]
        assert (one.folder, one.start, one.skipped) == (str(tmp_path), START, 0)
    assert {agent: one.id for agent, one in found.items()} == {
        "claude-code": "c1", "codex": "x1", "gemini-cli": "g1", "opencode": "ses_1",
    }  # fmt: skip
    assert {agent: (one.input_tokens, one.output_tokens) for agent, one in found.items()} == {
        "claude-code": (160, 5), "codex": (70, 7), "gemini-cli": (30, 3), "opencode": (25, 2),
    }  # fmt: skip
    assert found["codex"].loads[0].by is LoadedBy.FILE


def test_broken_unknown_and_hostile_lines_are_counted_and_skipped(tmp_path: Path) -> None:
    huge = '{"type": "user", "message": {"content": "' + "x" * (9 << 20) + '"}}'
    lines: list[Row | str] = [
        "{half",
        "[1]",
        "[" * 100_000,
        huge,
        {"type": "weather"},
        {"type": "user", "message": 7},
        {"type": "user"},
    ]
    claude_session(tmp_path, "c1", ["fill the form"], more=lines)
    [one] = read(tmp_path)
    assert (one.skipped, len(one.requests)) == (4, 1)


def test_fields_of_other_types_are_the_same_as_missing_ones(tmp_path: Path) -> None:
    rows: list[Row | str] = [
        {"sessionId": 7, "startTime": 10**30},
        {"id": [], "timestamp": {}, "type": "user", "content": {"text": "x"}},
        {"id": "u", "timestamp": "never", "type": "user", "content": [{"text": "real"}, 5, None]},
        {"id": "a", "type": "gemini", "tokens": {"input": "many", "output": -5}, "toolCalls": [None, {"name": 1, "args": 2}]},
    ]
    write_lines(tmp_path / ".gemini" / "tmp" / "p" / "chats" / "session-1.jsonl", rows)
    [one] = read(tmp_path)
    assert [(request.text, request.time) for request in one.requests] == [("real", 0.0)]
    assert (one.input_tokens, one.output_tokens) == (0, 0)


def test_links_are_not_followed(tmp_path: Path) -> None:
    file = claude_session(tmp_path / "other", "c1", ["secret request"])
    folder = tmp_path / "home" / ".claude" / "projects"
    (folder / "p").mkdir(parents=True)
    (folder / "p" / "link.jsonl").symlink_to(file)
    (folder / "linked").symlink_to(file.parent)
    os.mkfifo(folder / "p" / "pipe.jsonl")
    database = opencode_session(tmp_path / "other", "s", "secret request")
    (tmp_path / "home" / ".local" / "share" / "opencode").mkdir(parents=True)
    (tmp_path / "home" / ".local" / "share" / "opencode" / "opencode.db").symlink_to(database)
    assert read(tmp_path / "home") == []


def test_the_variables_of_agents_move_their_folders(tmp_path: Path) -> None:
    claude_session(tmp_path, "c1", ["one"]).parents[2].rename(tmp_path / "moved-claude")
    codex_session(tmp_path, "x1", ["two"])
    (tmp_path / ".codex").rename(tmp_path / "moved-codex")
    opencode_session(tmp_path, "s", "three")
    (tmp_path / ".local" / "share").rename(tmp_path / "moved-data")
    moved = {"CLAUDE_CONFIG_DIR": "moved-claude", "CODEX_HOME": "moved-codex", "XDG_DATA_HOME": "moved-data"}
    found = read(tmp_path, **{name: str(tmp_path / folder) for name, folder in moved.items()})
    assert sorted(one.requests[0].text for one in found) == ["one", "three", "two"]


def test_text_that_an_agent_adds_is_not_a_request(tmp_path: Path) -> None:
    common = {"sessionId": "c1", "cwd": "/p", "timestamp": iso(), "type": "user"}
    claude_session(tmp_path, "c1", ["real"], more=[
        {**common, "isMeta": True, "message": {"content": "Caveat: added"}},
        {**common, "isSidechain": True, "message": {"content": "a task for another agent"}},
        {**common, "isCompactSummary": True, "message": {"content": "This session is being continued"}},
        {**common, "message": {"content": "<local-command-stdout>ok</local-command-stdout>"}},
        {**common, "message": {"content": "<command-name>/clear</command-name>"}},
    ])  # fmt: skip
    codex_session(tmp_path, "x1", ["<turn_aborted>", "real"])
    gemini_session(tmp_path, "g1", ["<session_context>linux</session_context>", "real<hook_context>added</hook_context>"])
    assert [[request.text for request in one.requests] for one in read(tmp_path)] == [["real"]] * 3


def test_a_skill_that_the_user_names_is_loaded_by_the_user(tmp_path: Path) -> None:
    common = {"sessionId": "c1", "cwd": "/p", "timestamp": iso(), "type": "user"}
    body = {"content": [{"type": "text", "text": "Base directory for this skill: /s/pdf-forms\n"}]}
    claude_session(tmp_path, "c1", [], more=[
        {**common, "message": {"content": "<command-name>/pdf-tools:pdf-forms</command-name>"}},
        {**common, "isMeta": True, "message": body},
    ])  # fmt: skip
    codex_session(tmp_path, "x1", ["<skill>\n<name>pdf-forms</name>\n<path>/x</path>\n</skill>"])
    loads = [[(load.skill, load.by) for load in one.loads] for one in read(tmp_path)]
    assert loads == [[("pdf-forms", LoadedBy.USER)]] * 2


def test_a_load_that_failed_does_not_count(tmp_path: Path) -> None:
    output = "Process exited with code 1\nOutput:\ncat: no such file"
    codex_session(tmp_path, "x1", ["fill"], command="cat /s/pdf-forms/SKILL.md", output=output)
    [file] = find_transcripts(str(tmp_path), {})
    events = list(transcript_events(file))
    assert summarize_transcript(file, events).loads == ()
    assert [(step.kind, step.failed) for step in events if isinstance(step, ToolStep)] == [(StepKind.COMMAND, True)]


@pytest.mark.parametrize(
    ("command", "skills"),
    [
        ("cat /s/pdf-forms/SKILL.md", ["pdf-forms"]),
        ("cd x && sed -n '1,200p' skills/a/SKILL.md; head b/SKILL.md", ["a", "b"]),
        ("bash -lc 'cat s/a/SKILL.md'", ["a"]),
        ("sed -i s/a/b/ a/SKILL.md", []),
        ("git add a/SKILL.md", []),
        ("echo x > a/SKILL.md", []),
        ("cat '../Not A Name/SKILL.md'", []),
        ("\n\t;" * 7_000, []),
    ],
)
def test_skills_that_a_command_prints(command: str, skills: list[str]) -> None:
    assert skills_read_by(command) == skills


def test_a_transcript_survives_its_plain_data(tmp_path: Path) -> None:
    claude_session(tmp_path, "c1", ["fill"], loads=["pdf-forms"], shown=["pdf-forms", "x:y-z"])
    [one] = read(tmp_path)
    assert one.shown == ("pdf-forms", "y-z")
    assert Transcript.from_data(one.data()) == one


def test_usage_counts_what_happened_since(tmp_path: Path) -> None:
    from datetime import date

    claude_session(tmp_path, "c1", ["fill"], loads=["pdf-forms", "pdf-forms"])
    claude_session(tmp_path, "c2", ["fill"], loads=["pdf-forms"], time=-10 * 86_400)
    gemini_session(tmp_path, "g1", ["fill"], loads=["csv-charts"])
    usage = summarize_loads(read(tmp_path), since=START - 3600, today=date(2026, 11, 1), days=2)
    assert {name: (one.loads, dict(one.agents)) for name, one in usage.skills.items()} == {
        "pdf-forms": (2, {"claude-code": 2}), "csv-charts": (1, {"gemini-cli": 1}),
    }  # fmt: skip
    assert usage.by_day == {"2026-10-31": 0, "2026-11-01": 3}
    assert usage.agents["claude-code"].requests == 1
