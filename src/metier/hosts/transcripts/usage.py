"""Usage of skills over many transcripts: loads, tokens, agents and days."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from metier.values import dataclass

from .summary import Transcript

__all__ = ["AgentSessions", "SkillLoads", "TranscriptUsage", "summarize_loads"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillLoads:
    loads: int
    tokens: int
    """Estimated, of the instructions that models received."""
    last: float
    agents: Mapping[str, int]
    """Loads by agent."""
    ways: Mapping[str, int]
    """Loads by model, by user, or by reading the file."""

    def data(self) -> dict[str, Any]:  # Any: JSON
        return {
            "loads": self.loads, "tokens": self.tokens, "last": _iso(self.last), "agents": dict(self.agents),
            "by": dict(self.ways),
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSessions:
    sessions: int = 0
    requests: int = 0
    loads: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptUsage:
    agents: Mapping[str, AgentSessions]
    skills: Mapping[str, SkillLoads]
    """The most loaded first."""
    by_day: Mapping[str, int]
    """Loads of every day by its ISO date, oldest first, also days without any."""
    skipped: int = 0
    """Records that could not be read."""


def summarize_loads(transcripts: Iterable[Transcript], *, since: float, today: date, days: int) -> TranscriptUsage:
    """Counts the requests and loads after `since`. Tokens are those of whole sessions, as agents do not divide them."""
    by_day = {(today - timedelta(days=back)).isoformat(): 0 for back in range(days - 1, -1, -1)}
    agents: dict[str, Counter[str]] = {}
    skills: dict[str, tuple[Counter[str], Counter[str], list[float]]] = {}
    skipped = 0
    for transcript in transcripts:
        requests = sum(request.time >= since for request in transcript.requests)
        loads = [load for load in transcript.loads if load.time >= since]
        agents.setdefault(transcript.agent, Counter()).update(
            sessions=1, requests=requests, loads=len(loads), input_tokens=transcript.input_tokens,
            output_tokens=transcript.output_tokens,
        )  # fmt: skip
        skipped += transcript.skipped
        for load in loads:
            by_agent, ways, last = skills.setdefault(load.skill, (Counter(), Counter(), [0.0, 0.0]))
            by_agent[transcript.agent] += 1
            ways[str(load.by)] += 1
            last[:] = [max(last[0], load.time), last[1] + load.tokens]
            day = (_iso(load.time) or "")[:10]
            if day in by_day:
                by_day[day] += 1
    ordered = sorted(skills.items(), key=lambda item: (-item[1][0].total(), item[0]))
    return TranscriptUsage(
        agents={name: AgentSessions(**counts) for name, counts in sorted(agents.items())},
        skills={
            name: SkillLoads(loads=by.total(), tokens=int(last[1]), last=last[0], agents=dict(by), ways=dict(ways))
            for name, (by, ways, last) in ordered
        },
        by_day=by_day,
        skipped=skipped,
    )


def _iso(time: float) -> str | None:
    try:
        return datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds") if time else None
    except (ValueError, OverflowError, OSError):
        return None
