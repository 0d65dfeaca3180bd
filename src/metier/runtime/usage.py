"""Usage by session and skill (activations, tokens, seconds of scripts), and budgets for it."""

from __future__ import annotations

import contextlib
import logging
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import date, timedelta
from enum import StrEnum
from typing import Protocol

from metier.errors import UnavailableError
from metier.values import dataclass

from . import events
from .events import Event
from .tool_errors import OverBudgetError

__all__ = [
    "Allowance",
    "Budgets",
    "PastAction",
    "PastActionKind",
    "Usage",
    "UsageMeter",
    "UsageRow",
    "UsageStore",
    "UsageSummary",
    "summarize_usage",
]

_log = logging.getLogger(__name__)
_MAX_UNWRITTEN_READS = 256
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    activations: int = 0
    tokens: int = 0
    """Of instructions given to models."""
    reads: int = 0
    runs: int = 0
    failures: int = 0
    """Runs whose exit code was not 0."""
    seconds: float = 0.0
    calls: int = 0
    refusals: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(Usage)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """Upper limits; None is no limit."""

    activations: int | None = None
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    session: Allowance = Allowance()
    skill: Allowance = Allowance()
    """For each skill of a session."""

    @property
    def has_limits(self) -> bool:
        return self != Budgets()

    def check(self, skill: str, used: dict[str, Usage], coming: Usage) -> None:
        """Raises OverBudgetError if `coming` would exceed a budget."""
        everything = sum(used.values(), Usage())
        for owner, allowance, spent in (
            ("this session", self.session, everything),
            (skill, self.skill, used.get(skill, Usage())),
        ):
            for name, most, value in _limits(allowance, spent + coming):
                if value > most:
                    raise OverBudgetError(
                        f"{owner} may use {most:,g} {name}; this would make {value:,g}",
                        hint="work with what is already active, or ask the user to raise the budget",
                    )


def _limits(allowance: Allowance, total: Usage) -> Iterator[tuple[str, float, float]]:
    if allowance.activations is not None:
        yield "activations", allowance.activations, total.activations
    if allowance.tokens is not None:
        yield "tokens of instructions", allowance.tokens, total.tokens
    if allowance.seconds is not None:
        yield "seconds of scripts", allowance.seconds, total.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """The usage of one skill in one session on one day."""

    session: str
    skill: str
    day: str
    """As an ISO date."""
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSummary:
    """The usage of the last days. The empty skill name holds what belongs to no skill."""

    total: Usage
    by_skill: Mapping[str, Usage]
    by_day: Mapping[str, Usage]
    """Every day by its ISO date, oldest first, also days without usage."""


def summarize_usage(rows: Iterable[UsageRow], *, today: date, days: int) -> UsageSummary:
    by_skill: dict[str, Usage] = {}
    by_day = {(today - timedelta(days=back)).isoformat(): Usage() for back in range(days - 1, -1, -1)}
    for row in rows:
        if row.day in by_day:
            by_skill[row.skill] = by_skill.get(row.skill, Usage()) + row.usage
            by_day[row.day] += row.usage
    return UsageSummary(total=sum(by_day.values(), Usage()), by_skill=by_skill, by_day=by_day)


class PastActionKind(StrEnum):
    """A kind of thing that a skill did in sessions."""

    HOST = "host"
    """A host that was reached."""
    COMMAND = "command"
    """A program that a general tool ran for it."""
    FILE = "file"
    """A file of the workspace that a general tool read or changed for it."""
    DENIED = "denied"
    """What it tried and was not allowed to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAction:
    """Something that a skill did, as the events of sessions have it."""

    skill: str
    kind: PastActionKind
    name: str
    times: int = 1
    last: str = ""
    """The last day, as an ISO date."""


class UsageStore(Protocol):
    def add_usage(self, session: str, skill: str, day: str, usage: Usage) -> None: ...

    def add_deeds(self, session: str, deeds: Iterable[PastAction]) -> None: ...


class UsageMeter:
    """Adds up the usage of one session from its events. Reads are collected first: reading a file must not cost a write."""

    def __init__(self, store: UsageStore) -> None:
        self.store = store
        self._reads: dict[str, int] = {}
        self._last: Event | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, events.ResourceRead):
            self._reads[event.name] = self._reads.get(event.name, 0) + 1
            self._last = event
            if self._reads[event.name] >= _MAX_UNWRITTEN_READS:
                self.flush()
            return
        if deeds := tuple(_deeds_of(event)):
            with _losing_counts():
                self.store.add_deeds(event.session, deeds)
        skill, usage = _usage_of(event)
        if usage != Usage():
            self.flush()
            self._add(event, skill, usage)

    def flush(self) -> None:
        reads, self._reads = self._reads, {}
        for skill, count in reads.items():
            if self._last is not None:
                self._add(self._last, skill, Usage(reads=count))

    def _add(self, event: Event, skill: str, usage: Usage) -> None:
        with _losing_counts():
            self.store.add_usage(event.session, skill, event.timestamp.date().isoformat(), usage)


@contextlib.contextmanager
def _losing_counts() -> Iterator[None]:
    """Losing a count is better than failing the run."""
    try:
        yield
    except UnavailableError as error:
        _log.warning("usage not recorded: %s", error)


def _deeds_of(event: Event) -> Iterator[PastAction]:
    day = event.timestamp.date().isoformat()
    match event:
        case events.ScriptFinished(name=skill) if skill:
            found = [*_network(event)]
        case events.ActionTaken(name=skill) if skill:
            found = [*_network(event), *((PastActionKind.FILE, path) for path in event.paths)]
            found += [(PastActionKind.COMMAND, name) for name in _programs(event)]
        case events.ActionRefused(name=skill, what=what) if skill:
            found = [(PastActionKind.DENIED, what)]
        case _:
            return
    for kind, name in found:
        yield PastAction(skill=skill, kind=kind, name=name[:_LONGEST_NAME], last=day)


def _network(event: events.ScriptFinished | events.ActionTaken) -> Iterator[tuple[PastActionKind, str]]:
    yield from ((PastActionKind.HOST, host) for host in event.contacted)
    yield from ((PastActionKind.DENIED, f"Network({host})") for host in event.denied)


def _programs(event: events.ActionTaken) -> tuple[str, ...]:
    """Returns the programs of a command line; the first word of one that has no plain form."""
    if event.tool != "run_command":
        return ()
    try:
        words = shlex.split(event.command, comments=True)
    except ValueError:
        words = event.command.split()
    return (words[0],) if words else ()


def _usage_of(event: Event) -> tuple[str, Usage]:
    match event:
        case events.SkillActivated(name=name, tokens=tokens) if tokens:
            return name, Usage(activations=1, tokens=tokens)
        case events.ScriptFinished(name=name):
            return name, Usage(runs=1, failures=int(not event.ok), seconds=event.duration)
        case events.ActionTaken(name=name, duration=seconds):
            return name, Usage(seconds=seconds)
        case events.ToolCalled(name=name):
            return name, Usage(calls=1)
        case events.ActionRefused(name=name):
            return name, Usage(refusals=1)
    return "", Usage()
