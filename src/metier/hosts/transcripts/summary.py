"""A transcript in short: requests, loads and tokens, without the work in between. Plain data, so that it can be cached."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Self

from metier.values import dataclass

from .events import (
    BadRecord,
    FailedLoad,
    LoadedBy,
    SessionFacts,
    SkillListing,
    SkillLoad,
    TokenCount,
    ToolStep,
    TranscriptEvent,
    UserRequest,
)
from .readers import TranscriptFile

__all__ = ["Transcript", "summarize_transcript"]

_MOST_KEPT = 2_000
"""Requests, and loads, of one session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    agent: str
    id: str
    folder: str = ""
    """The project, as the agent recorded it."""
    start: float = 0.0
    end: float = 0.0
    requests: tuple[UserRequest, ...] = ()
    loads: tuple[SkillLoad, ...] = ()
    failed: tuple[FailedLoad, ...] = ()
    shown: tuple[str, ...] | None = None
    """The skills that the agent showed its model; None if the transcript does not say."""
    input_tokens: int = 0
    output_tokens: int = 0
    commands: int = 0
    skipped: int = 0
    """Records that could not be read."""

    def data(self) -> list[Any]:  # Any: JSON
        return [
            self.agent, self.id, self.folder, self.start, self.end, self.requests, self.loads, self.failed, self.shown,
            self.input_tokens, self.output_tokens, self.commands, self.skipped,
        ]  # fmt: skip

    @classmethod
    def from_data(cls, row: list[Any]) -> Self:  # Any: JSON
        """Raises ValueError, TypeError or IndexError if the row is of another version."""
        agent, key, folder, start, end, requests, loads, failed, shown, given, answered, commands, skipped = row
        return cls(
            agent=agent, id=key, folder=folder, start=start, end=end, requests=tuple(UserRequest(*one) for one in requests),
            loads=tuple(SkillLoad(one[0], one[1], LoadedBy(one[2]), one[3]) for one in loads),
            failed=tuple(FailedLoad(*one) for one in failed),
            shown=None if shown is None else tuple(shown), input_tokens=given, output_tokens=answered, commands=commands,
            skipped=skipped,
        )  # fmt: skip


def summarize_transcript(file: TranscriptFile, events: Iterable[TranscriptEvent]) -> Transcript:
    """A session without an id of its own has the name of its file."""
    facts = SessionFacts()
    requests: list[UserRequest] = []
    loads: list[SkillLoad] = []
    failed: list[FailedLoad] = []
    shown: tuple[str, ...] | None = None
    given = answered = commands = skipped = 0
    end = 0.0
    for event in events:
        end = max(end, getattr(event, "time", 0.0))
        match event:
            case SessionFacts():
                facts = SessionFacts(facts.id or event.id, facts.folder or event.folder, facts.time or event.time)
            case UserRequest() if len(requests) < _MOST_KEPT:
                requests.append(event)
            case SkillLoad() if len(loads) < _MOST_KEPT:
                loads.append(event)
            case FailedLoad() if len(failed) < _MOST_KEPT:
                failed.append(event)
            case SkillListing():
                shown = tuple(dict.fromkeys((*(shown or ()), *event.names)))[:_MOST_KEPT]
            case TokenCount():
                given, answered = given + event.input, answered + event.output
            case ToolStep():
                commands += 1
            case BadRecord():
                skipped += 1
    name = os.path.basename(file.path).removesuffix(".jsonl")
    return Transcript(
        agent=file.agent, id=facts.id or file.session or name, folder=facts.folder, start=facts.time or file.changed,
        end=end or file.changed, requests=tuple(requests), loads=tuple(loads), failed=tuple(failed),
        shown=shown, input_tokens=given, output_tokens=answered, commands=commands, skipped=skipped,
    )  # fmt: skip
