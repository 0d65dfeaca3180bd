"""The events of a session, and the bus that delivers them to subscribers.

A slow or failing subscriber never affects the run that emits the event. Events hold names and counts. The few fields with
content (a query, arguments) are marked, and telemetry leaves them out by default.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TypeVar, overload

from metier.errors import MetierError
from metier.values import dataclass

from .activation import ActivatedBy, ActivationMode
from .async_bridge import caller_loop
from .operations import Operation, Tracer

__all__ = [
    "ActionRefused",
    "ActionTaken",
    "Event",
    "EventBus",
    "ResourceRead",
    "ScriptFinished",
    "ScriptStarted",
    "SelectionMade",
    "SkillActivated",
    "SkillDeactivated",
    "SkillShadowed",
    "SkillsChanged",
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
    """Given to the model; 0 if it has the text already."""
    description: str = ""
    """Content."""

    @property
    def skill_name(self) -> str:
        """The same as `name`, for handlers of events from several packages."""
        return self.name

    @property
    def skill_path(self) -> str:
        """The same as `path`."""
        return self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDeactivated(Event):
    name: str
    path: str
    reason: str
    """requested, limit, turn, missing, unneeded, cleared, or the state that makes it unusable, such as skipped."""


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
    hosts: tuple[str, ...] = ()
    """Hosts that it may reach."""
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
    """The isolation level; empty if it never ran."""
    error: str = ""
    """The code of the error that kept it from running."""
    contacted: tuple[str, ...] = ()
    """Hosts that it reached."""
    denied: tuple[str, ...] = ()
    """Hosts that it tried to reach and was not allowed to."""

    @property
    def ok(self) -> bool:
        return self.exit_code == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(Event):
    tool: str
    name: str = ""
    """The skill that the call concerns, if any."""
    resource: str = ""
    duration: float = 0.0
    error: str = ""
    """The code of the error in the reply; empty if it succeeded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionMade(Event):
    names: tuple[str, ...]
    considered: int = 0
    query: str = ""
    """Content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillShadowed(Event):
    name: str
    path: str
    """Of the shadowed skill."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRefused(Event):
    name: str
    """The skill; empty if it concerns none."""
    what: str
    """Such as `Script(scripts/run.py)`."""
    rule: str = ""
    reason: str = ""
    """The sentence for the user, with a hint. Content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionTaken(Event):
    """A general tool has read or changed files of the workspace, or has run a command or code."""

    tool: str
    name: str = ""
    """The skill for which it was allowed; empty if none is active."""
    rule: str = ""
    """The pattern, setting or approval that allowed it."""
    paths: tuple[str, ...] = ()
    """Inside the workspace. Content."""
    command: str = ""
    """The command line, or the code. Content."""
    size: int = 0
    """Bytes that were read, written or printed."""
    exit_code: int | None = None
    """None for a tool that runs no command, and for a command that was stopped."""
    duration: float = 0.0
    level: str = ""
    """The isolation level."""
    handle: str = ""
    """Of a command in the background."""
    contacted: tuple[str, ...] = ()
    """Hosts that a command reached."""
    denied: tuple[str, ...] = ()
    """Hosts that it tried to reach and was not allowed to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillsChanged(Event):
    """Skills appeared, changed or vanished on disk since the last turn."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    invalid: tuple[tuple[str, str], ...] = ()
    """Skills that cannot be used any more, each with the reason."""


Subscriber = Callable[[Event], Awaitable[None] | None]
_EventT = TypeVar("_EventT", bound=Event)


class EventBus:
    """Delivers every event to every subscriber, in order. It is not a queue: synchronous subscribers are called at once."""

    def __init__(self) -> None:
        self._subscribers: list[tuple[Subscriber, tuple[type[Event], ...]]] = []
        self._pending: set[asyncio.Task[None]] = set()
        self.failures = 0
        """The number of times that a subscriber failed. Each failure is logged."""

    @overload
    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]: ...

    @overload
    def subscribe(
        self, subscriber: Callable[[_EventT], Awaitable[None] | None], *kinds: type[_EventT]
    ) -> Callable[[], None]: ...

    def subscribe(self, subscriber: Callable[..., Awaitable[None] | None], *kinds: type[Event]) -> Callable[[], None]:
        """Subscribes to these kinds of events, or to all. Returns a function that unsubscribes."""
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
            except Exception as error:  # a subscriber may raise anything
                self._log_failure(subscriber, error)
                continue
            if inspect.isawaitable(waiting):
                self._schedule(subscriber, waiting)

    @contextmanager
    def follow(self, operation: Operation) -> Iterator[Operation]:
        """Lets every subscriber that is a `Tracer` follow an operation while the block runs."""
        begun = [each for subscriber, _ in tuple(self._subscribers) if (each := self._begin(subscriber, operation)) is not None]
        try:
            yield operation
        except BaseException as error:
            operation.error = operation.error or _error_type(error)
            raise
        finally:
            for subscriber, end in reversed(begun):
                try:
                    end()
                except Exception as error:  # a subscriber may raise anything
                    self._log_failure(subscriber, error)

    async def drain(self) -> None:
        """Waits until every asynchronous subscriber has finished with the events so far."""
        while self._pending:
            waiting = tuple(self._pending)
            await asyncio.gather(*waiting, return_exceptions=True)
            # The callbacks of tasks that are done already have not run yet, and gather does not wait for them.
            self._pending.difference_update(waiting)

    def _begin(self, subscriber: Subscriber, operation: Operation) -> tuple[Subscriber, Callable[[], None]] | None:
        tracer: object = subscriber
        if not isinstance(tracer, Tracer):
            return None
        try:
            return subscriber, tracer.begin_operation(operation)
        except Exception as error:  # a subscriber may raise anything
            self._log_failure(subscriber, error)
            return None

    def _schedule(self, subscriber: Subscriber, waiting: Awaitable[None]) -> None:
        loop = caller_loop()
        if loop is None:
            asyncio.run(self._guard(subscriber, waiting))
            return

        def start() -> None:
            task = loop.create_task(self._guard(subscriber, waiting))
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

    async def _guard(self, subscriber: Subscriber, waiting: Awaitable[None]) -> None:
        try:
            await waiting
        except Exception as error:  # a subscriber may raise anything
            self._log_failure(subscriber, error)

    def _log_failure(self, subscriber: Subscriber, error: Exception) -> None:
        self.failures += 1
        name = getattr(subscriber, "__qualname__", type(subscriber).__name__)
        _log.warning("subscriber %s failed: %s: %s", name, type(error).__name__, error)


def _error_type(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    return error.code if isinstance(error, MetierError) else type(error).__name__
