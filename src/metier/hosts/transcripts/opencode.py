"""Transcripts of opencode: the tables `session`, `message` and `part` of `opencode.db`, opened only for reading."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from urllib.parse import quote

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
from .records import Record, dict_at, error_line, name_in, number_at, skills_read_by, text_at, time_at, user_text

__all__ = ["find_sessions", "session_events"]

_LARGEST_PART = 8 << 20
_PARTS = """
select m.time_created, m.data, p.data from message m left join part p on p.message_id = m.id
where m.session_id = ? and (p.data is null or length(p.data) < ?) order by m.time_created, m.id, p.id
"""


def find_sessions(file: str) -> Iterator[tuple[str, str, float]]:
    """Yields the id of each session, a text that changes with it, and the time of its last change."""
    try:
        with _database(file) as db:
            for key, created, updated in db.execute("select id, time_created, time_updated from session"):
                if isinstance(key, str):
                    yield key, str(updated), time_at({"at": updated, "or": created}, "at", "or")
    except (sqlite3.Error, OSError):
        # Another version, or locked: the same as no sessions.
        return


def session_events(file: str, session: str) -> Iterator[TranscriptEvent]:
    try:
        with _database(file) as db:
            row = db.execute("select directory, time_created from session where id = ?", (session,)).fetchone()
            if row is None:
                return
            facts = {"folder": row[0], "time": row[1]}
            yield SessionFacts(session, text_at(facts, "folder"), time_at(facts, "time"))
            yield from _messages(db, session)
    except sqlite3.Error as error:
        yield BadRecord(f"the database cannot be read: {error}")


def _messages(db: sqlite3.Connection, session: str) -> Iterator[TranscriptEvent]:
    counted = ""
    for created, message_text, part_text in db.execute(_PARTS, (session, _LARGEST_PART)):
        message, part = _json(message_text), _json(part_text or "{}")
        if message is None or part is None:
            yield BadRecord("a row is not JSON")
            continue
        time = time_at({"at": created}, "at")
        if message.get("role") == "user":
            yield from _request(part, time)
            continue
        if message_text != counted:
            # The rows of one message follow each other.
            counted, tokens = message_text, dict_at(message, "tokens")
            given = number_at(tokens, "input") + number_at(dict_at(tokens, "cache"), "read", "write")
            if given:
                yield TokenCount(time, given, number_at(tokens, "output", "reasoning"))
        yield from _part(part, time)


def _request(part: Record, time: float) -> Iterator[TranscriptEvent]:
    if part.get("type") != "text" or part.get("synthetic"):
        return
    text = text_at(part, "text").strip()
    if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1]:
        # `opencode run "a request"` keeps the quotes.
        text = text[1:-1]
    if text:
        yield UserRequest(time, user_text(text))


def _part(part: Record, time: float) -> Iterator[TranscriptEvent]:
    if part.get("type") == "text":
        yield ModelText(time, user_text(text_at(part, "text")))
    if part.get("type") != "tool":
        return
    state = dict_at(part, "state")
    given, output, failed = dict_at(state, "input"), text_at(state, "output"), state.get("status") != "completed"
    time = time_at(dict_at(state, "time"), "start") or time
    command, path = text_at(given, "command"), text_at(given, "filePath", "path")
    match part.get("tool"):
        case "skill" if skill := name_in(text_at(given, "name")):
            if failed:
                yield FailedLoad(time, skill, error_line(text_at(state, "error")))
            else:
                yield SkillLoad(time, skill, LoadedBy.MODEL, estimate_tokens(output))
        case "bash" if command:
            code = dict_at(state, "metadata").get("exit")
            yield ToolStep(time, StepKind.COMMAND, command, failed or code not in (None, 0))
        case "write" | "edit" if path:
            yield ToolStep(time, StepKind.FILE, path, failed)
    is_read = part.get("tool") in ("bash", "read") and not failed
    for name in skills_read_by(command or f"cat '{path}'") if is_read else ():
        yield SkillLoad(time, name, LoadedBy.FILE, estimate_tokens(output))


def _json(text: object) -> Record | None:
    try:
        record = json.loads(text) if isinstance(text, str | bytes) else None
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _database(file: str) -> contextlib.closing[sqlite3.Connection]:
    if os.path.islink(file) or not os.path.isfile(file):
        raise FileNotFoundError(file)
    # The database is opencode's own, so it is opened by its address and not by `sources.open_sqlite`, which would change it.
    db = sqlite3.connect(f"file:{quote(os.path.abspath(file))}?mode=ro", uri=True, timeout=1.0)
    return contextlib.closing(db)
