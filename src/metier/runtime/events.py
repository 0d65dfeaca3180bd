"""What happened, as values, and a small bus that tells whoever wants to know.

A subscriber is a stranger: it may be slow to await, and it may fail. Neither ever reaches the run that it is told
about. Events name things and count them; the few that carry content (a query, arguments) say so, and telemetry leaves
those fields out unless asked.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime

from metier.values import dataclass

from .activation import ActivatedBy, ActivationMode
from .async_bridge import caller_loop

__all__ = [
    "ActionRefused",
    "Event",
    "EventBus",
    "ResourceRead",
    "ScriptFinished",
    "ScriptStarted",
    "SkillActivated",
    "SkillDeactivated",
    "SkillShadowed",
    "SkillsSelected",
    "Subscriber",
    "ToolCalled",
]  # fmt: skip

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    timestamp: datetime
    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillActivated(Event):
    name: str
    path: str
    """Of the SKILL.md."""
    by: ActivatedBy = ActivatedBy.USER
    mode: ActivationMode = ActivationMode.BOUNDED
    tokens: int = 0
    """That the model was given; 0 when it had the text already."""
    description: str = ""
    """Content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDeactivated(Event):
    name: str
    path: str
    reason: str
    """asked, limit, turn, gone, unneeded or cleared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRead(Event):
    name: str
    path: str
    """Inside the skill."""
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptStarted(Event):
    name: str
    script: str
    network: bool = False
    arguments: tuple[str, ...] = ()
    """Content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptFinished(Event):
    name: str
    script: str
    exit_code: int | None = None
    duration: float = 0.0
    timed_out: bool = False
    level: str = ""
    """How it was isolated; empty when it never ran."""
    error: str = ""
    """The code of what kept it from running."""

    @property
    def ok(self) -> bool:
        return self.exit_code == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(Event):
    tool: str
    name: str = ""
    """The skill it was about, where it was about one."""
    resource: str = ""
    duration: float = 0.0
    error: str = ""
    """The code of what the model was told went wrong; empty when all was well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillsSelected(Event):
    names: tuple[str, ...]
    considered: int = 0
    query: str = ""
    """Content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillShadowed(Event):
    name: str
    path: str
    """Of the skill that is hidden."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRefused(Event):
    name: str
    """The skill, empty where it was about none."""
    what: str
    """Such as `Script(scripts/run.py)`."""
    rule: str = ""


Subscriber = Callable[[Event], Awaitable[None] | None]


class EventBus:
    """Tells every subscriber every event, in order. Not a queue: a synchronous subscriber is called at once."""

    def __init__(self) -> None:
        self._subscribers: list[tuple[Subscriber, tuple[type[Event], ...]]] = []
        self._pending: set[asyncio.Task[None]] = set()
        self.failures = 0
        """How often a subscriber failed; each time is logged."""

    def subscribe(self, subscriber: Subscriber, *kinds: type[Event]) -> Callable[[], None]:
        """Tell it these kinds, or all. Returns what unsubscribes it."""
        entry = (subscriber, kinds or (Event,))
        self._subscribers.append(entry)

        def unsubscribe() -> None:
            if entry in self._subscribers:
                self._subscribers.remove(entry)

        return unsubscribe

    def emit(self, event: Event) -> None:
        for subscriber, kinds in tuple(self._subscribers):
            if not isinstance(event, kinds):
                continue
            try:
                waiting = subscriber(event)
            except Exception as error:  # a stranger's code
                self._failed(subscriber, error)
                continue
            if inspect.isawaitable(waiting):
                self._follow(subscriber, waiting)

    async def drain(self) -> None:
        """Wait until every asynchronous subscriber is done with what was emitted so far."""
        while self._pending:
            waiting = tuple(self._pending)
            await asyncio.gather(*waiting, return_exceptions=True)
            # Not left to the tasks' own callbacks: for tasks that are done already nothing waits, and those would never run.
            self._pending.difference_update(waiting)

    def _follow(self, subscriber: Subscriber, waiting: Awaitable[None]) -> None:
        loop = caller_loop()
        if loop is None:
            asyncio.run(self._guarded(subscriber, waiting))
            return

        def start() -> None:
            task = loop.create_task(self._guarded(subscriber, waiting))
            self._pending.add(task)
            task.add_done_callback(self._pending.discard)

        try:
            inside = asyncio.get_running_loop() is loop
        except RuntimeError:
            inside = False
        if inside:
            start()
        else:
            loop.call_soon_threadsafe(start)

    async def _guarded(self, subscriber: Subscriber, waiting: Awaitable[None]) -> None:
        try:
            await waiting
        except Exception as error:  # a stranger's code
            self._failed(subscriber, error)

    def _failed(self, subscriber: Subscriber, error: Exception) -> None:
        self.failures += 1
        name = getattr(subscriber, "__qualname__", type(subscriber).__name__)
        _log.warning("the subscriber %s failed: %s: %s", name, type(error).__name__, error)
