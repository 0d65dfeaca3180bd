"""Transcripts of Claude Code: `projects/FOLDER/SESSION.jsonl` below its configuration folder."""

from __future__ import annotations

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

__all__ = ["ClaudeCodeReader"]

_COMMAND = re.compile(r"<command-name>/?([^<\s]{1,200})</command-name>")
_SKILL_BODY = "Base directory for this skill:"
_NOT_TYPED = ("<command-", "<local-command-", "<bash-", "<task-notification", "Caveat:", "[Request interrupted")
_WRITES = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_MOST_OPEN = 1_000


class ClaudeCodeReader:
    """Reads one file; `events` may be called once."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, Record, float]] = {}
        """Calls of tools whose result was not read yet."""
        self._loading: dict[str, tuple[str, float]] = {}
        """Skills whose instructions were not read yet, by the call's id; the empty id is a command of the user."""
        self._counted: tuple[object, ...] = ()
        self._is_known = False

    def events(self, stream: IO[bytes]) -> Iterator[TranscriptEvent]:
        for record in read_records(stream):
            if isinstance(record, BadRecord):
                yield record
                continue
            if not self._is_known and record.get("cwd"):
                self._is_known = True
                yield SessionFacts(text_at(record, "sessionId"), text_at(record, "cwd"), time_at(record, "timestamp"))
            match record.get("type"):
                case "user":
                    yield from self._user(record)
                case "assistant":
                    yield from self._assistant(record)
                case "attachment":
                    yield from _listing(dict_at(record, "attachment"))
        yield from self._rest()

    def _user(self, record: Record) -> Iterator[TranscriptEvent]:
        time, content = time_at(record, "timestamp"), dict_at(record, "message").get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_result":
                yield from self._result(block)
        text = text_of_blocks(content)
        if record.get("isMeta"):
            if text.startswith(_SKILL_BODY):
                skill, when = self._loading.pop(text_at(record, "sourceToolUseID"), ("", 0.0))
                by = LoadedBy.MODEL if record.get("sourceToolUseID") else LoadedBy.USER
                if skill:
                    yield SkillLoad(when, skill, by, estimate_tokens(text))
            return
        if named := _COMMAND.search(text[:2_000]):
            # A command of Claude Code itself looks the same; only a skill is followed by its instructions.
            self._loading[""] = (name_in(named[1]), time)
        elif text and not record.get("isSidechain") and not record.get("isCompactSummary") and not text.startswith(_NOT_TYPED):
            yield UserRequest(time, user_text(text))

    def _assistant(self, record: Record) -> Iterator[TranscriptEvent]:
        time, message = time_at(record, "timestamp"), dict_at(record, "message")
        usage = dict_at(message, "usage")
        given = number_at(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        # An answer of several blocks has a line for each, and each repeats the usage.
        if given and (counted := (message.get("id"), record.get("requestId"), given)) != self._counted:
            self._counted = counted
            yield TokenCount(time, given, number_at(usage, "output_tokens"))
        for block in list_at(message, "content"):
            if not isinstance(block, dict):
                continue
            if block.get("type") == "text":
                yield ModelText(time, user_text(text_at(block, "text")))
            elif block.get("type") == "tool_use" and len(self._open) < _MOST_OPEN:
                self._open[text_at(block, "id")] = (text_at(block, "name"), dict_at(block, "input"), time)

    def _result(self, block: Record) -> Iterator[TranscriptEvent]:
        call = text_at(block, "tool_use_id")
        if call not in self._open:
            return
        tool, given, time = self._open.pop(call)
        failed = block.get("is_error") is True
        if tool == "Skill":
            skill = name_in(text_at(given, "skill", "command"))
            if skill and failed:
                yield FailedLoad(time, skill, error_line(text_of_blocks(block.get("content"))))
            elif skill:
                self._loading[call] = (skill, time)
            return
        yield from _step(tool, given, time, failed=failed)
        if not failed:
            path = text_at(given, "file_path") if tool == "Read" else ""
            for name in skills_read_by(f"cat '{path}'" if path else text_at(given, "command") if tool == "Bash" else ""):
                yield SkillLoad(time, name, LoadedBy.FILE, estimate_tokens(text_of_blocks(block.get("content"))))

    def _rest(self) -> Iterator[TranscriptEvent]:
        for call, (skill, time) in self._loading.items():
            if call:
                yield SkillLoad(time, skill, LoadedBy.MODEL, 0)
        for tool, given, time in self._open.values():
            yield from _step(tool, given, time, failed=True)


def _step(tool: str, given: Record, time: float, *, failed: bool) -> Iterator[TranscriptEvent]:
    if tool == "Bash" and (command := text_at(given, "command")):
        yield ToolStep(time, StepKind.COMMAND, command, failed)
    elif tool in _WRITES and (path := text_at(given, "file_path", "notebook_path")):
        yield ToolStep(time, StepKind.FILE, path, failed)


def _listing(attachment: Record) -> Iterator[TranscriptEvent]:
    if attachment.get("type") == "skill_listing" and (names := list_at(attachment, "names")):
        yield SkillListing(tuple(found for name in names if isinstance(name, str) and (found := name_in(name))))
