"""Fakes and builders for tests: a clock, an event recorder, a machine, a script runner, a skill on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from metier.errors import RefusedError
from metier.runtime import (
    Event,
    Isolation,
    IsolationLevel,
    Outcome,
    ScriptRun,
    check_argument_limits,
)
from metier.sources import DiskFiles
from metier.spec import resource_path
from metier.values import dataclass, field

__all__ = ["EventRecorder", "FakeMachine", "FakeRunner", "TickingClock", "outcome", "run_now", "skill_folder"]

E = TypeVar("E", bound=Event)


class EventRecorder:
    """Records every event that is published."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.events]


class TickingClock:
    """A clock that advances by one second on every call."""

    def __init__(self, start: datetime | None = None) -> None:
        self.now = start or datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def skill_folder(
    root: str | Path, name: str, *, head: str = "", body: str = "Do it.\n", files: Mapping[str, str | bytes] | None = None
) -> Path:
    """Writes a skill. `head` holds more lines of frontmatter, `files` its other files by path."""
    folder = Path(root) / name
    folder.mkdir(parents=True, exist_ok=True)
    more = head.strip("\n") + "\n" if head.strip() else ""
    text = f"---\nname: {name}\ndescription: Does {name}. Use when asked for {name}.\n{more}---\n\n{body}"
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    for path, content in (files or {}).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@dataclass(slots=True, kw_only=True)
class FakeMachine:
    """A `catalog.Environment` with exactly these commands and packages. `asked` records every question."""

    commands: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    python: tuple[int, ...] = (3, 12, 0)
    system: str = "linux"
    asked: list[str] = field(default_factory=list)

    def has_command(self, name: str) -> bool:
        self.asked.append(name)
        return name in self.commands

    def has_package(self, name: str) -> bool:
        self.asked.append(name)
        return name in self.packages


T = TypeVar("T")


def run_now(work: Coroutine[Any, Any, T]) -> T:  # Any: a coroutine's own types
    """Runs a coroutine from a synchronous test."""
    return asyncio.run(work)


class FakeRunner:
    """Checks a run like the real runner, runs nothing, and returns a given answer. `ran` records every run."""

    def __init__(self, answer: str | Outcome | Callable[[ScriptRun], str | Outcome] = "ran\n") -> None:
        self._answer = answer
        self.ran: list[ScriptRun] = []

    async def run(self, run: ScriptRun) -> Outcome:
        check_argument_limits(run)
        path = resource_path(run.script)
        if not path.startswith("scripts/"):
            raise RefusedError(f"{path!r} is not a script of the skill", rule="not-a-script", hint="scripts are below scripts/")
        DiskFiles(run.folder).read(path, limit=1 << 26)
        self.ran.append(run)
        said = self._answer(run) if callable(self._answer) else self._answer
        return said if isinstance(said, Outcome) else outcome(said)


def outcome(stdout: str = "", *, exit_code: int = 0, stderr: str = "", duration: float = 0.5) -> Outcome:
    isolation = Isolation(level=IsolationLevel.NAMESPACE, layers=("fake",))
    return Outcome(exit_code=exit_code, stdout=stdout, stderr=stderr, isolation=isolation, duration=duration)
