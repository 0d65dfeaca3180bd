"""What a session is given: how it should behave, and what it may use of the program around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Protocol

from metier.disclosure import Count
from metier.selection import Selection
from metier.spec import MAX_RESOURCE_BYTES, estimate_tokens

from .activation import Mode
from .content import MOST_FILES
from .events import Bus
from .limits import Limits, Run
from .outcome import Outcome
from .permissions import Permissions
from .shelf import OpenForeign
from .store import MemoryStore, Store
from .usage import Budgets

__all__ = ["Host", "LateRunner", "LateSelector", "Options", "ScriptRunner", "Selects"]


class ScriptRunner(Protocol):
    """Runs one script, confined. `metier.runtime.running.Runner` is ours; the suite is `metier.testing.RunnerConformance`."""

    async def run(self, run: Run) -> Outcome: ...


class Selects(Protocol):
    """Finds skills for a request; `metier.selection.Selector` is ours."""

    def select(self, query: str, limit: int | None = None, *, recent: Iterable[str] = ()) -> Selection:
        """`recent` are the folders of skills that are active already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a session behaves."""

    max_active: int = 3
    mode: Mode = Mode.BOUNDED
    modes: Mapping[str, Mode] = field(default_factory=dict)
    """For single skills, by name."""
    pinned: frozenset[str] = frozenset()
    """Skills that never leave to make room."""
    instruction_tokens: int = 10_000
    """More than that of a skill's instructions is trimmed, at a heading."""
    listed_files: int = MOST_FILES
    resource_bytes: int = MAX_RESOURCE_BYTES
    resource_characters: int = 100_000
    """Of a file that a model reads at once; the answer says how to read on."""
    named_skills: int = 500
    """Up to so many skills a tool's schema lists every name; beyond, the model searches."""
    script_tools: bool = True
    """Offer each script as a tool of its own, beside run_skill_script."""
    parameters: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Values of skills' parameters, by skill and name, as the configuration has them."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that scripts may see."""
    limits: Limits = field(default_factory=Limits)
    budgets: Budgets = field(default_factory=Budgets)
    count: Count = estimate_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What a session uses of the program around it. Everything has a default that harms nobody and forgets everything."""

    store: Store = field(default_factory=MemoryStore)
    runner: ScriptRunner | None = None
    """Without one, no script is offered."""
    permissions: Permissions = field(default_factory=Permissions)
    bus: Bus = field(default_factory=Bus)
    selector: Selects | None = None
    """Without one, search_skills is not offered."""
    foreign: OpenForeign | None = None
    """Opens skills that are on other servers. Without it, they cannot be used."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)


class LateRunner:
    """A runner that the first script makes: finding out what a machine can do takes time."""

    def __init__(self, make: Callable[[], ScriptRunner]) -> None:
        self._make = make

    async def run(self, run: Run) -> Outcome:
        return await self._make().run(run)


class LateSelector:
    """A selector that the first request opens: most sessions of a command line make none."""

    def __init__(self, opened: Callable[[], Selects]) -> None:
        self._open = opened

    @cached_property
    def _selector(self) -> Selects:
        return self._open()

    def select(self, query: str, limit: int | None = None, *, recent: Iterable[str] = ()) -> Selection:
        return self._selector.select(query, limit, recent=recent)
