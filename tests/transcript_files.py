"""Small transcripts in the formats of other agents, written by tests."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["START", "Row", "claude_session", "codex_session", "gemini_session", "iso", "opencode_session", "write_lines"]

START = datetime(2026, 11, 1, 12, tzinfo=UTC).timestamp()
Row = dict[str, Any]  # Any: JSON


def iso(seconds: float = 0) -> str:
    return datetime.fromtimestamp(START + seconds, UTC).isoformat().replace("+00:00", "Z")


def write_lines(file: Path, rows: Sequence[Row | str]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return file


def claude_session(
    home: Path, session: str, requests: Sequence[str], *, loads: Sequence[str] = (), commands: Sequence[str] = (),
    shown: Sequence[str] | None = None, folder: str = "", more: Sequence[Row | str] = (), time: float = 0,
) -> Path:  # fmt: skip
    common = {"sessionId": session, "cwd": folder or str(home), "timestamp": iso(time)}
    rows: list[Row | str] = [{**common, "type": "user", "message": {"role": "user", "content": text}} for text in requests]
    if shown is not None:
        rows.append({**common, "type": "attachment", "attachment": {"type": "skill_listing", "names": list(shown)}})
    for at, name in enumerate(loads):
        use = {"type": "tool_use", "id": f"s{at}", "name": "Skill", "input": {"skill": name}}
        result = {"type": "tool_result", "tool_use_id": f"s{at}", "content": f"Launching skill: {name}"}
        body = [{"type": "text", "text": f"Base directory for this skill: /x/{name}\n\n# {name}\n"}]
        usage = {"input_tokens": 100, "cache_read_input_tokens": 10, "output_tokens": 5}
        rows += [
            {**common, "type": "assistant", "message": {"id": f"m{at}", "content": [use], "usage": usage}},
            {**common, "type": "user", "message": {"content": [result]}},
            {**common, "type": "user", "isMeta": True, "sourceToolUseID": f"s{at}", "message": {"content": body}},
        ]
    for at, text in enumerate(commands):
        use = {"type": "tool_use", "id": f"c{at}", "name": "Bash", "input": {"command": text}}
        result = {"type": "tool_result", "tool_use_id": f"c{at}", "content": "done"}
        rows += [
            {**common, "type": "assistant", "message": {"id": f"b{at}", "content": [use]}},
            {**common, "type": "user", "message": {"content": [result]}},
        ]
    answer = {"id": "end", "content": [{"type": "text", "text": "All done."}], "usage": {"input_tokens": 50}}
    rows.append({**common, "type": "assistant", "message": answer})
    file = write_lines(home / ".claude" / "projects" / "-project" / f"{session}.jsonl", [*rows, *more])
    os.utime(file, (START + time, START + time))
    return file


def codex_session(home: Path, session: str, requests: Sequence[str], *, command: str = "", output: str = "ok") -> Path:
    rows: list[Row] = [{"type": "session_meta", "timestamp": iso(), "payload": {"id": session, "cwd": str(home)}}]
    for text in ("<environment_context>linux</environment_context>", *requests):
        content = [{"type": "input_text", "text": text}]
        rows.append(
            {"type": "response_item", "timestamp": iso(), "payload": {"type": "message", "role": "user", "content": content}}
        )
    if command:
        call = {"type": "function_call", "name": "exec_command", "arguments": json.dumps({"cmd": command}), "call_id": "1"}
        rows.append({"type": "response_item", "timestamp": iso(), "payload": call})
        done = {"type": "function_call_output", "call_id": "1", "output": output}
        rows.append({"type": "response_item", "timestamp": iso(), "payload": done})
    usage = {"last_token_usage": {"input_tokens": 70, "output_tokens": 7}}
    rows.append({"type": "event_msg", "timestamp": iso(), "payload": {"type": "token_count", "info": usage}})
    return write_lines(home / ".codex" / "sessions" / "2026" / "11" / "01" / f"rollout-{session}.jsonl", rows)


def gemini_session(home: Path, session: str, requests: Sequence[str], *, loads: Sequence[str] = ()) -> Path:
    rows: list[Row] = [{"sessionId": session, "startTime": iso()}]
    for at, text in enumerate(requests):
        rows.append({"id": f"u{at}", "timestamp": iso(), "type": "user", "content": [{"text": text}]})
    answer = {"id": "a", "timestamp": iso(), "type": "gemini", "content": "", "tokens": {"input": 30, "output": 3}}
    tools = [
        {"id": name, "name": "activate_skill", "args": {"name": name}, "status": "success", "result": []} for name in loads
    ]
    rows += [answer, {**answer, "toolCalls": tools}]
    folder = home / ".gemini" / "tmp" / "project"
    file = write_lines(folder / "chats" / f"session-{session}.jsonl", rows)
    (folder / ".project_root").write_text(str(home))
    return file


def opencode_session(home: Path, session: str, request: str, *, loads: Sequence[str] = ()) -> Path:
    file = home / ".local" / "share" / "opencode" / "opencode.db"
    file.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(file)
    db.executescript(
        "create table if not exists session (id text, directory text, time_created integer, time_updated integer);"
        "create table if not exists message (id text, session_id text, time_created integer, data text);"
        "create table if not exists part (id text, message_id text, session_id text, data text);"
    )
    at = int(START * 1000)
    db.execute("insert into session values (?, ?, ?, ?)", (session, str(home), at, at))
    tokens = {"input": 20, "output": 2, "cache": {"read": 5, "write": 0}}
    loaded: list[Row] = [{"type": "tool", "tool": "skill", "state": _loaded(name)} for name in loads]
    messages: list[tuple[str, list[Row]]] = [
        ("user", [{"type": "text", "text": f'"{request}"'}]),
        ("assistant", loaded or [{"type": "step"}]),
    ]
    for number, (role, parts) in enumerate(messages):
        message = {"role": role, **({"tokens": tokens} if role == "assistant" else {})}
        db.execute("insert into message values (?, ?, ?, ?)", (f"{session}{number}", session, at, json.dumps(message)))
        for place, part in enumerate(parts):
            key = f"{session}{number}{place}"
            db.execute("insert into part values (?, ?, ?, ?)", (key, f"{session}{number}", session, json.dumps(part)))
    db.commit()
    db.close()
    return file


def _loaded(name: str) -> Row:
    return {"status": "completed", "input": {"name": name}, "output": f"# {name}"}
