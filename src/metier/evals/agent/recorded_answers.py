"""Recorded answers of a model, found again by what was asked.

A recording is a folder: `recording.json` says which agent made it, and `answers/` has one file for each request, with every
answer that it got, in order. A request is known by a digest of its conversation. The system prompt and the tools are left out,
because they change with each version of the program; the catalog of skills is in the digest, so a changed description
is another request. Dates, ids and temporary paths are replaced. Headers are never stored, and so no key is.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from metier.errors import ConflictError, MetierError, NotFoundError, plural
from metier.sources import replace_bytes
from metier.values import dataclass

from .conversation import AgentTurn, TurnKind

__all__ = ["NotRecordedError", "RecordedAnswer", "Recording", "open_recording", "request_digest", "start_recording"]

_FORMAT = 1
_ABOUT = "recording.json"
_LONGEST_SHOWN = 160
# What programs add to the user's words about the machine and the moment.
_BLOCKS = re.compile(
    r"<(system-reminder|environment_context|session_context|env|user_info|skills_instructions|permissions instructions)>"
    r".*?</\1>",
    re.DOTALL,
)
_VOLATILE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE), "<id>"),
    (re.compile(r"\b(?:call|toolu|msg|resp|fc|ses|prt|chatcmpl)_[A-Za-z0-9_-]+"), "<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<date>"),
    (re.compile(r"\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? )?(?:January|February|March|April|May|June|July|August"
                r"|September|October|November|December) \d{1,2},? \d{4}"), "<date>"),
    (re.compile(r"\b\d{1,2}/\d{1,2}/\d{4}\b"), "<date>"),
    (re.compile(r"\b\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?\b"), "<time>"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|seconds?)\b"), "<seconds>"),
    (re.compile(r"127\.0\.0\.1:\d+|localhost:\d+"), "<server>"),
    (re.compile(r"/(?:private/)?(?:var/folders|tmp)/[^\s\"'<>)]*"), "<temporary>"),
    (re.compile(r"\b[0-9a-f]{12,}\b"), "<id>"),
    (re.compile(r"\b\d{10,}\b"), "<id>"),
)  # fmt: skip


class NotRecordedError(MetierError, LookupError):
    """A program asked its model for something that the recording does not have."""

    code = "not-recorded"
    exit_status = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAnswer:
    status: int
    content_type: str
    body: str

    def data(self) -> dict[str, Any]:
        return {"status": self.status, "content_type": self.content_type, "body": self.body}


def request_digest(model: str, turns: Sequence[AgentTurn], *, scope: str, has_tools: bool, home: str = "") -> str:
    """Returns the digest of a request. `scope` stands for the agent and the skills that it was offered."""
    spoken = [(turn.kind.value, turn.tool, _stable(turn.text, home)) for turn in turns]
    document = [scope, model, has_tools, [turn for turn in spoken if turn[1] or turn[2]]]
    return hashlib.sha256(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()[:32]


class Recording:
    """The answers in one folder. Safe for several threads. With `about` answers are added, else they are given."""

    def __init__(self, folder: str, *, about: Mapping[str, str] | None = None) -> None:
        """`about` describes a new recording, whose folder is made with its first answer."""
        self.folder = os.path.abspath(folder)
        self.writes = about is not None
        self._about = about
        self._given: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, digest: str, turns: Sequence[AgentTurn], answer: RecordedAnswer) -> None:
        with self._lock:
            if self._about is not None:
                os.makedirs(os.path.join(self.folder, "answers"), exist_ok=True)
                _write(os.path.join(self.folder, _ABOUT), {"format": _FORMAT, **self._about}, self.folder)
                self._about = None
            document = self._read(digest) or {"asked": _shown(turns), "answers": []}
            document["answers"].append(answer.data())
            _write(self._file(digest), document, self.folder)

    def next(self, digest: str, turns: Sequence[AgentTurn], *, has_tools: bool) -> RecordedAnswer:
        """Returns the next answer to a request. NotRecordedError if there is none.

        Side requests without tools, such as one for a title, may come more often than before: the last answer is repeated.
        """
        with self._lock:
            document = self._read(digest)
            answers = document["answers"] if document else []
            place = self._given[digest]
            self._given[digest] += 1
        if not has_tools and answers:
            place = min(place, len(answers) - 1)
        if place < len(answers):
            return RecordedAnswer(**answers[place])
        why = (
            f"has {plural(len(answers), 'answer')} to this request, and it was asked again"
            if answers
            else "has no answer to a request"
        )
        raise NotRecordedError(
            f"{self.folder} {why}: {_shown(turns)!r}",
            hint="the skill, its evals or the program changed, or --runs is larger: record it again with --record DIR",
        )

    def _read(self, digest: str) -> dict[str, Any] | None:
        try:
            with open(self._file(digest), encoding="utf-8") as stream:
                found: dict[str, Any] = json.load(stream)
        except FileNotFoundError:
            return None
        except ValueError:
            raise NotRecordedError(f"{self._file(digest)} is not a recorded answer", hint="record it again") from None
        return found

    def _file(self, digest: str) -> str:
        return os.path.join(self.folder, "answers", f"{digest}.json")


def start_recording(folder: str, about: Mapping[str, str]) -> Recording:
    """Returns an empty recording. ConflictError if the folder has files already."""
    place = os.path.abspath(folder)
    if os.path.isdir(place) and os.listdir(place):
        raise ConflictError(f"{folder} is not empty", hint="name another folder, or delete this one")
    return Recording(place, about=about)


def open_recording(folder: str, *, agent: str) -> Recording:
    """Opens a recording to give its answers. NotFoundError if there is none, ConflictError if another agent made it."""
    try:
        with open(os.path.join(folder, _ABOUT), encoding="utf-8") as stream:
            about = json.load(stream)
    except (OSError, ValueError):
        raise NotFoundError(f"{folder} has no recording", hint="make one with --record DIR") from None
    if not isinstance(about, dict) or about.get("format") != _FORMAT:
        raise ConflictError(f"{folder} has a recording of another format", hint="record it again with --record DIR")
    if about.get("agent") != agent:
        raise ConflictError(f"{folder} was recorded with {about.get('agent')}", hint=f"use --agent {about.get('agent')}")
    return Recording(folder)


def _stable(text: str, home: str) -> str:
    text = _BLOCKS.sub("", text)
    if home:
        text = text.replace(home, "/home/user")
    for pattern, word in _VOLATILE:
        text = pattern.sub(word, text)
    return " ".join(text.split())


def _shown(turns: Sequence[AgentTurn]) -> str:
    asked = next((turn for turn in reversed(turns) if turn.kind is TurnKind.USER and _stable(turn.text, "")), None)
    text = _stable(asked.text, "") if asked else ""
    calls = sum(turn.kind is TurnKind.CALL for turn in turns)
    return text[:_LONGEST_SHOWN] + (f" (after {plural(calls, 'tool call')})" if calls else "")


def _write(file: str, document: object, inside: str) -> None:
    data = (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")
    replace_bytes(file, data, mode=0o644, inside=inside)
