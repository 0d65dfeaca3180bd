"""The options of a session, and the services that it uses: store, runner, permissions, event bus, selector."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from typing import Protocol, runtime_checkable

from metier.catalog import Catalog
from metier.disclosure import TokenCounter
from metier.selection import Selection
from metier.spec import MAX_RESOURCE_BYTES, estimate_tokens
from metier.values import dataclass, field

from .activation import ActivationMode
from .content import MAX_LISTED_FILES
from .events import EventBus
from .policy.permissions import Permissions
from .script_run import Limits, Outcome, ScriptRun
from .scripts.packages import PackageProvider
from .secrets.stored_secret import SecretSource
from .selection_prior import SelectionPrior
from .skill_access import FindCapabilities, OpenRemoteFiles
from .store import MemorySessionStore, SessionStore
from .usage import Budgets

__all__ = [
    "LazyRunner",
    "LazySelector",
    "RunnerKind",
    "ScriptChecker",
    "ScriptRunner",
    "SessionOptions",
    "SessionServices",
    "SkillSelector",
]


class RunnerKind(StrEnum):
    """The runners that metier has. The setting `sandbox.runner` names one."""

    SANDBOX = "sandbox"
    CONTAINER = "container"


class ScriptRunner(Protocol):
    """Runs one script in isolation. `Runner` and `ContainerRunner` implement it.

    `metier.testing.RunnerConformance` is the conformance suite for others.
    """

    async def run(self, run: ScriptRun) -> Outcome: ...


@runtime_checkable
class ScriptChecker(Protocol):
    """A runner that knows beforehand which scripts it cannot run."""

    def problem(self, script: str, data: bytes) -> str:
        """Returns why it cannot run this script; empty if it can."""


class SkillSelector(Protocol):
    """Finds skills for a request. `metier.selection.Selector` implements it."""

    def select(
        self, query: str, limit: int | None = None, *, recent: Iterable[str] = (), prior: Mapping[str, float] | None = None
    ) -> Selection:
        """`recent` are the folders of skills that were used in the session, the latest last.

        `prior` has log-odds by folder, from the user's corrections.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """The options of a session."""

    max_active: int = 3
    mode: ActivationMode = ActivationMode.BOUNDED
    modes: Mapping[str, ActivationMode] = field(default_factory=dict)
    """Exceptions for single skills, by name."""
    pinned: frozenset[str] = frozenset()
    """Skills that are never evicted."""
    instruction_tokens: int = 10_000
    """Longer instructions are trimmed, at a heading."""
    listed_files: int = MAX_LISTED_FILES
    resource_bytes: int = MAX_RESOURCE_BYTES
    resource_characters: int = 100_000
    """The most that one call of read_skill_resource returns; the reply says how to continue."""
    named_skills: int = 500
    """Up to this number the schema of a tool lists every skill name; above it, the model searches."""
    script_tools: bool = True
    """Offer each script as a tool of its own, besides run_skill_script."""
    general_tools: bool = False
    """Offer run_command and run_code, and with a workspace also list_files, read_file, search_files, write_file, edit_file."""
    background_seconds: float = 600.0
    """The most that a command in the background may run. It ends with the session in any case."""
    parameters: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Configured values of parameters, by skill and name."""
    given_parameters: Mapping[str, object] = field(default_factory=dict)
    """Values for every skill that declares a parameter of that name, or for one as `SKILL.NAME`. They replace `parameters`."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of scripts."""
    limits: Limits = field(default_factory=Limits)
    budgets: Budgets = field(default_factory=Budgets)
    count: TokenCounter = estimate_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionServices:
    """The services that a session uses. The defaults keep nothing, run nothing and approve nothing."""

    store: SessionStore = field(default_factory=MemorySessionStore)
    runner: ScriptRunner | None = None
    """Without one, no scripts are offered."""
    permissions: Permissions = field(default_factory=Permissions)
    bus: EventBus = field(default_factory=EventBus)
    selector: SkillSelector | None = None
    """Without one, search_skills is not offered."""
    open_selector: Callable[[Catalog], SkillSelector] | None = None
    """Makes the selector, again for each new catalog. It takes precedence over `selector`."""
    current_catalog: Callable[[], Catalog] | None = None
    """Returns the skills as they are on disk now, and the same object while nothing has changed. See `Session.refresh`."""
    remote_files: OpenRemoteFiles | None = None
    """Opens skills on other servers. Without it, they cannot be used."""
    secrets: SecretSource | None = None
    """Stored secrets of the user. Without it, scripts get none."""
    packages: PackageProvider | None = None
    """Prepares the packages that scripts declare. Without one, such scripts are refused."""
    capabilities: FindCapabilities | None = None
    """Finds the list of an installed skill, which it is then held to. Without it, no skill has one."""
    prior: SelectionPrior = field(default_factory=SelectionPrior)
    """The user's corrections of the selection."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)


class LazyRunner:
    """Creates the runner when the first script runs: probing the sandbox takes time."""

    def __init__(self, make: Callable[[], ScriptRunner]) -> None:
        self._make = make

    async def run(self, run: ScriptRun) -> Outcome:
        return await self._make().run(run)

    def problem(self, script: str, data: bytes) -> str:
        made = self._make()
        return made.problem(script, data) if isinstance(made, ScriptChecker) else ""


class LazySelector:
    """Opens the selector on the first request: most sessions of the command line make none."""

    def __init__(self, open_selector: Callable[[], SkillSelector]) -> None:
        self._open = open_selector

    @cached_property
    def _selector(self) -> SkillSelector:
        return self._open()

    def select(
        self, query: str, limit: int | None = None, *, recent: Iterable[str] = (), prior: Mapping[str, float] | None = None
    ) -> Selection:
        return self._selector.select(query, limit, recent=recent, prior=prior)
