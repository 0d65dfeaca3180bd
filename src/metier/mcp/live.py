"""The offering as it is now, kept current by a thread that watches the disk.

The first one is made in that thread too, so that the server answers a handshake before it has read a single skill.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from metier.runtime import Tool
from metier.sources import Update

from .offering import Offering, offering_of
from .tools import OpenSession, server_tools

__all__ = ["Changed", "Live", "Moment", "Watch"]

_log = logging.getLogger(__name__)

Watch = Callable[[threading.Event], Iterator[Update]]
"""First the catalog as it is, then an update for each change, until the event is set."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What is offered now, and the tools over it."""

    offering: Offering
    tools: tuple[Tool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """Which of the lists a client may hold are no longer right."""

    resources: bool
    prompts: bool
    tools: bool


class Live:
    """A context: what is offered is looked for and watched from its start to its end."""

    def __init__(self, watch: Watch, open_session: OpenSession, *, scripts: bool) -> None:
        self._watch, self._open_session, self._scripts = watch, open_session, scripts
        self._stop = threading.Event()
        self._arrived = asyncio.Event()
        self._moment: Moment | Exception = RuntimeError("nothing has arrived")
        self._tell: Callable[[Changed], Awaitable[None]] | None = None
        self._telling: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        # A daemon: whoever ends the server does not wait for a search of the disk to finish.
        arguments = (asyncio.get_running_loop(),)
        threading.Thread(target=self._work, args=arguments, name="metier-watch", daemon=True).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        for task in tuple(self._telling):
            task.cancel()

    async def now(self) -> Moment:
        await self._arrived.wait()
        if isinstance(self._moment, Exception):
            raise self._moment
        return self._moment

    def on_change(self, tell: Callable[[Changed], Awaitable[None]]) -> None:
        self._tell = tell

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        before: Offering | None = None
        try:
            for update in self._watch(self._stop):
                touched = [change.entry.folder for change in update.changes]
                offering = offering_of(update.catalog, before=before, touched=touched)
                moment = Moment(offering, server_tools(offering, self._open_session, scripts=self._scripts))
                loop.call_soon_threadsafe(self._take, moment, before)
                before = offering
        except Exception as error:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._fail, error)

    def _take(self, moment: Moment, before: Offering | None) -> None:
        self._moment = moment
        self._arrived.set()
        if before is not None and self._tell is not None:
            task = asyncio.ensure_future(self._tell(_changed(before, moment.offering)))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    def _fail(self, error: Exception) -> None:
        """Told to whoever waits for the first moment; after that, the last good one stays."""
        if not self._arrived.is_set():
            self._moment = error
            self._arrived.set()
        else:
            _log.warning("changes on disk are no longer seen: %s", error)


def _changed(before: Offering, after: Offering) -> Changed:
    return Changed(
        resources=[each.entry for each in before.listed] != [each.entry for each in after.listed],
        prompts=before.for_people != after.for_people,
        tools=before.for_models != after.for_models,
    )
