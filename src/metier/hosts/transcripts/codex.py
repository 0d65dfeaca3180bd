"""Transcripts of Codex: `sessions/YEAR/MONTH/DAY/rollout-*.jsonl` below its folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import IO

from metier.spec import estimate_tokens

from .events import (
    BadRecord,
    FailedLoad,
    LoadedBy,
    ModelText,
    SessionFacts,
    SkillListing,
    SkillLoad,
    StepKind,
    TokenCount,
    ToolStep,
    TranscriptEvent,
    UserRequest,
)
from .records import (
    Record,
    dict_at,
    error_line,
    list_at,
    name_in,
    number_at,
    read_records,
    skills_read_by,
    text_at,
    text_of_blocks,
    time_at,
    user_text,
)

__all__ = ["CodexReader"]

_LISTED = re.compile(r"^- ([a-z0-9:-]{1,130}): ", re.MULTILINE)
_NAMED = re.compile(r"<skill>\s*<name>([^<]{1,130})</name>")
_CHANGED = re.compile(r"^\*\*\* (?:Add|Update) File: (.+)$", re.MULTILINE)
_EXIT_CODE = re.compile(r'(?:exited with code|"exit_code":) ?(\d+)')
_MOST_OPEN = 1_000


class CodexReader:
    """Reads one file; `events` may be called once."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[Record, float]] = {}
        """Calls of tools whose result was not read yet."""

    def events(self, stream: IO[bytes]) -> Iterator[TranscriptEvent]:
        for record in read_records(stream):
            if isinstance(record, BadRecord):
                yield record
                continue
            time, payload = time_at(record, "timestamp"), dict_at(record, "payload")
            match record.get("type"), payload.get("type"):
                case "session_meta", _:
                    started = time_at(payload, "timestamp") or time
                    yield SessionFacts(text_at(payload, "id", "session_id"), text_at(payload, "cwd"), started)
                case "response_item", "message":
                    yield from _message(payload, time)
                case "response_item", "function_call" | "custom_tool_call" | "local_shell_call":
                    if len(self._open) < _MOST_OPEN:
                        self._open[text_at(payload, "call_id")] = (payload, time)
                case "response_item", "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
                    yield from self._result(payload)
                case "event_msg", "token_count":
                    last = dict_at(payload, "info", "last_token_usage")
                    if last:
                        yield TokenCount(time, number_at(last, "input_tokens"), number_at(last, "output_tokens"))
        for call, time in self._open.values():
            yield from _steps(call, time, failed=True)

    def _result(self, payload: Record) -> Iterator[TranscriptEvent]:
        if (key := text_at(payload, "call_id")) not in self._open:
            return
        call, time = self._open.pop(key)
        given = payload.get("output")
        output = text_of_blocks(given) if not isinstance(given, dict) else text_at(given, "content", "output")
        code = _EXIT_CODE.search(output[:2_000])
        failed = code is not None and code[1] != "0"
        yield from _steps(call, time, failed=failed)
        for name in skills_read_by(_command(call)):
            if failed:
                yield FailedLoad(time, name, error_line(output.rpartition("Output:")[2]))
            else:
                yield SkillLoad(time, name, LoadedBy.FILE, estimate_tokens(output))


def _message(payload: Record, time: float) -> Iterator[TranscriptEvent]:
    role, text = payload.get("role"), text_of_blocks(payload.get("content"))
    if role == "assistant":
        yield ModelText(time, user_text(text))
    elif role == "developer" and "<skills_instructions>" in text:
        listed = text.partition("<skills_instructions>")[2].partition("</skills_instructions>")[0]
        yield SkillListing(tuple(found for name in _LISTED.findall(listed) if (found := name_in(name))))
    elif role == "user" and (named := _NAMED.match(text)):
        if skill := name_in(named[1]):
            yield SkillLoad(time, skill, LoadedBy.USER, estimate_tokens(text))
    elif role == "user" and _is_typed(payload, text):
        yield UserRequest(time, user_text(text))


def _is_typed(payload: Record, text: str) -> bool:
    """Codex also sends its own context as messages of the user."""
    kinds = list_at(dict_at(payload, "internal_chat_message_metadata_passthrough"), "content_item_kinds")
    if kinds:
        return "user.text" in kinds
    return bool(text.strip()) and not text.startswith(("<", "# AGENTS.md instructions"))


def _steps(call: Record, time: float, *, failed: bool) -> Iterator[TranscriptEvent]:
    command = _command(call)
    changed = _CHANGED.findall(text_at(call, "input") or command)[:50]
    yield from (ToolStep(time, StepKind.FILE, path.strip(), failed) for path in changed)
    if command and not changed:
        yield ToolStep(time, StepKind.COMMAND, command, failed)


def _command(call: Record) -> str:
    """Returns the shell command of a call; the versions of Codex spell it in several ways."""
    try:
        given = json.loads(text_at(call, "arguments") or "{}")
    except (ValueError, RecursionError):
        return ""
    given = dict_at(call, "action") or (given if isinstance(given, dict) else {})
    words = given.get("cmd", given.get("command"))
    if isinstance(words, list):
        return str(words[-1]) if words and isinstance(words[-1], str) and "-lc" in words else " ".join(map(str, words))
    return text_at({"words": words}, "words")
