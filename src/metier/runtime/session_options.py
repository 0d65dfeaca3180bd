"""What a session is given: how it should behave, and what it may use of the program around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Protocol

from metier.disclosure import TokenCounter
from metier.selection import Selection
from metier.spec import MAX_RESOURCE_BYTES, estimate_tokens
from metier.values import dataclass, field

from .activation import ActivationMode
from .content import MAX_LISTED_FILES
from .events import EventBus
from .policy.permissions import Permissions
from .script_run import Limits, Outcome, ScriptRun
from .skill_access import OpenRemoteFiles
from .store import MemorySessionStore, SessionStore
from .usage import Budgets

__all__ = ["LazyRunner", "LazySelector", "ScriptRunner", "SessionOptions", "SessionServices", "SkillSelector"]


class ScriptRunner(Protocol):
    """Runs one script in a sandbox. `Runner` implements it; `metier.testing.RunnerConformance` is the conformance suite."""

    async def run(self, run: ScriptRun) -> Outcome: ...


class SkillSelector(Protocol):
    """Finds skills for a request; `metier.selection.Selector` is ours."""

    def select(self, query: str, limit: int | None = None, *, recent: Iterable[str] = ()) -> Selection:
        """`recent` are the folders of skills that are active already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """How a session behaves."""

    max_active: int = 3
    mode: ActivationMode = ActivationMode.BOUNDED
    modes: Mapping[str, ActivationMode] = field(default_factory=dict)
    """For single skills, by name."""
    pinned: frozenset[str] = frozenset()
    """Skills that never leave to make room."""
    instruction_tokens: int = 10_000
    """More than that of a skill's instructions is trimmed, at a heading."""
    listed_files: int = MAX_LISTED_FILES
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
    count: TokenCounter = estimate_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionServices:
    """What a session uses of the program around it. Everything has a default that harms nobody and forgets everything."""

    store: SessionStore = field(default_factory=MemorySessionStore)
    runner: ScriptRunner | None = None
    """Without one, no script is offered."""
    permissions: Permissions = field(default_factory=Permissions)
    bus: EventBus = field(default_factory=EventBus)
    selector: SkillSelector | None = None
    """Without one, search_skills is not offered."""
    remote_files: OpenRemoteFiles | None = None
    """Opens skills that are on other servers. Without it, they cannot be used."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)


class LazyRunner:
    """A runner that the first script makes: finding out what a machine can do takes time."""

    def __init__(self, make: Callable[[], ScriptRunner]) -> None:
        self._make = make

    async def run(self, run: ScriptRun) -> Outcome:
        return await self._make().run(run)


class LazySelector:
    """A selector that the first request opens: most sessions of a command line make none."""

    def __init__(self, opened: Callable[[], SkillSelector]) -> None:
        self._open = opened

    @cached_property
    def _selector(self) -> SkillSelector:
        return self._open()

    def select(self, query: str, limit: int | None = None, *, recent: Iterable[str] = ()) -> Selection:
        return self._selector.select(query, limit, recent=recent)
