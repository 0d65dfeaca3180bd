"""The transcripts on this machine, found and read, whichever agent wrote them. Links are not followed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from .claude_code import ClaudeCodeReader
from .codex import CodexReader
from .events import BadRecord, TranscriptEvent
from .gemini_cli import GeminiReader
from .opencode import find_sessions, session_events
from .places import TRANSCRIPT_AGENTS, transcript_place
from .records import open_transcript

__all__ = ["TranscriptFile", "find_transcripts", "transcript_events"]

_MOST_FILES = 100_000
_MOST_FOLDER_BYTES = 4_096


class TranscriptFile(NamedTuple):
    """One session in a file of its own, or in a database."""

    agent: str
    path: str
    session: str
    """Its id in a database; empty for a file of its own."""
    state: str
    """Changes with the contents."""
    changed: float
    """Seconds since 1970."""


def find_transcripts(
    home: str, environment: Mapping[str, str], *, agents: Iterable[str] = TRANSCRIPT_AGENTS, since: float = 0.0
) -> list[TranscriptFile]:
    """Returns the sessions that changed after `since`, the newest first. Only names and times are read."""
    found = (one for agent in agents for one in islice(_find(agent, home, environment), _MOST_FILES) if one.changed >= since)
    return sorted(found, key=lambda one: (-one.changed, one.agent, one.path, one.session))


def transcript_events(file: TranscriptFile) -> Iterator[TranscriptEvent]:
    """Yields the events in their order. Anything that cannot be read is a BadRecord; nothing is raised."""
    if file.agent == "opencode":
        yield from session_events(file.path, file.session)
        return
    try:
        with open_transcript(file.path) as stream:
            match file.agent:
                case "claude-code":
                    yield from ClaudeCodeReader().events(stream)
                case "codex":
                    yield from CodexReader().events(stream)
                case _:
                    yield from GeminiReader(_gemini_folder(file.path)).events(stream)
    except OSError as error:
        yield BadRecord(f"cannot be read: {error.strerror or error}")


def _find(agent: str, home: str, environment: Mapping[str, str]) -> Iterator[TranscriptFile]:
    place = transcript_place(agent, home, environment)
    match agent:
        case "claude-code":
            yield from _files(agent, place, depth=1, ending=".jsonl")
        case "codex":
            yield from _files(agent, place, depth=3, ending=".jsonl")
            yield from _files(agent, os.path.join(os.path.dirname(place), "archived_sessions"), depth=0, ending=".jsonl")
        case "gemini-cli":
            for project in _folders(place):
                yield from _files(agent, os.path.join(project, "chats"), depth=0, ending=".jsonl")
        case "opencode":
            yield from (TranscriptFile(agent, place, key, state, changed) for key, state, changed in find_sessions(place))


def _files(agent: str, folder: str, *, depth: int, ending: str) -> Iterator[TranscriptFile]:
    for entry in _entries(folder):
        try:
            if entry.name.endswith(ending) and entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                yield TranscriptFile(agent, entry.path, "", f"{status.st_mtime_ns}:{status.st_size}", status.st_mtime)
        except OSError:
            continue
    if depth:
        for path in _folders(folder):
            yield from _files(agent, path, depth=depth - 1, ending=ending)


def _folders(folder: str) -> list[str]:
    return [entry.path for entry in _entries(folder) if entry.is_dir(follow_symlinks=False)]


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(islice(entries, _MOST_FILES))
    except OSError:
        return []


def _gemini_folder(path: str) -> str:
    """Returns the project of a chat, which Gemini CLI keeps in a file beside the chats."""
    try:
        with open_transcript(os.path.join(os.path.dirname(os.path.dirname(path)), ".project_root")) as stream:
            return stream.read(_MOST_FOLDER_BYTES).decode("utf-8", "replace").strip()
    except OSError:
        return ""
