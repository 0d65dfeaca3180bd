"""Transcripts of Gemini CLI: `tmp/PROJECT/chats/session-*.jsonl` below its folder.

A message is written again, under the same id, when its tools have run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from metier.spec import estimate_tokens

from .events import (
    BadRecord,
    FailedLoad,
    LoadedBy,
    ModelText,
    SessionFacts,
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

__all__ = ["GeminiReader"]

_NOT_TYPED = ("<session_context>", "<state_snapshot>")


class GeminiReader:
    """Reads one file; `events` may be called once."""

    def __init__(self, folder: str = "") -> None:
        self._folder = folder
        self._seen: set[str] = set()
        """Ids of messages and calls that were read."""

    def events(self, stream: IO[bytes]) -> Iterator[TranscriptEvent]:
        for record in read_records(stream):
            if isinstance(record, BadRecord):
                yield record
            elif "sessionId" in record:
                yield SessionFacts(text_at(record, "sessionId"), self._folder, time_at(record, "startTime"))
            elif record.get("type") == "user" and self._is_new(record):
                text = _without_hooks(text_of_blocks(record.get("content")))
                if text.strip() and not text.startswith(_NOT_TYPED):
                    yield UserRequest(time_at(record, "timestamp"), user_text(text))
            elif record.get("type") == "gemini":
                yield from self._answer(record)

    def _answer(self, record: Record) -> Iterator[TranscriptEvent]:
        time, tokens = time_at(record, "timestamp"), dict_at(record, "tokens")
        if tokens and self._is_new(record):
            yield TokenCount(time, number_at(tokens, "input"), number_at(tokens, "output", "thoughts"))
            if text := text_of_blocks(record.get("content")):
                yield ModelText(time, user_text(text))
        for call in list_at(record, "toolCalls"):
            if isinstance(call, dict) and self._is_new(call):
                yield from _call(call, time)

    def _is_new(self, record: Record) -> bool:
        key = text_at(record, "id")
        is_new = not key or key not in self._seen
        self._seen.add(key)
        return is_new


def _call(call: Record, time: float) -> Iterator[TranscriptEvent]:
    time = time_at(call, "timestamp") or time
    given, failed = dict_at(call, "args"), call.get("status") not in (None, "success")
    command, path = text_at(given, "command"), text_at(given, "file_path", "absolute_path")
    match call.get("name"):
        case "activate_skill" if skill := name_in(text_at(given, "name")):
            if failed:
                yield FailedLoad(time, skill, error_line(_output(call)))
            else:
                yield SkillLoad(time, skill, LoadedBy.MODEL, estimate_tokens(_output(call)))
        case "run_shell_command" if command:
            yield ToolStep(time, StepKind.COMMAND, command, failed)
        case "write_file" | "replace" if path:
            yield ToolStep(time, StepKind.FILE, path, failed)
    is_read = call.get("name") in ("run_shell_command", "read_file") and not failed
    for name in skills_read_by(command or f"cat '{path}'") if is_read else ():
        yield SkillLoad(time, name, LoadedBy.FILE, estimate_tokens(_output(call)))


def _without_hooks(text: str) -> str:
    """Removes the text that prompt hooks added."""
    before, tag, rest = text.partition("<hook_context>")
    return f"{before}{rest.rpartition('</hook_context>')[2]}" if tag else text


def _output(call: Record) -> str:
    parts = [dict_at(part, "functionResponse", "response") for part in list_at(call, "result")]
    return "\n".join(text_at(part, "output", "error") for part in parts)
