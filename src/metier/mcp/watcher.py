"""Keeps a snapshot of the served skills current, in a thread that watches the disk.

The first snapshot is made in that thread too, so that the server answers a handshake before it has read a single skill.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator
from types import TracebackType
from typing import Self

from metier.runtime import Tool
from metier.sources import CatalogUpdate
from metier.values import dataclass

from .script_slots import ScriptSlots
from .served_catalog import ServedCatalog, serve_catalog
from .tools import OpenSession, server_tools

__all__ = ["ListChanges", "SkillWatcher", "Snapshot", "WatchCatalog"]

_log = logging.getLogger(__name__)

WatchCatalog = Callable[[threading.Event], Iterator[CatalogUpdate]]
"""Yields the current catalog, then an update for each change, until the event is set."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The served skills at one moment, and the tools over them."""

    catalog: ServedCatalog
    tools: tuple[Tool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListChanges:
    """The lists that have changed since a client last read them."""

    resources: bool
    prompts: bool
    tools: bool


class SkillWatcher:
    """A context manager; the skills are watched while it is open."""

    def __init__(self, watch: WatchCatalog, open_session: OpenSession, *, scripts: bool) -> None:
        self._watch, self._open_session = watch, open_session
        self._scripts = ScriptSlots() if scripts else None
        self._stop = threading.Event()
        self._arrived = asyncio.Event()
        self._snapshot: Snapshot | Exception = RuntimeError("nothing has arrived")
        self._notify: Callable[[ListChanges], Awaitable[None]] | None = None
        self._notifying: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        # A daemon thread: the server can end during a search of the disk.
        arguments = (asyncio.get_running_loop(),)
        threading.Thread(target=self._work, args=arguments, name="metier-watch", daemon=True).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        for task in tuple(self._notifying):
            task.cancel()

    async def now(self) -> Snapshot:
        await self._arrived.wait()
        if isinstance(self._snapshot, Exception):
            raise self._snapshot
        return self._snapshot

    def on_change(self, notify: Callable[[ListChanges], Awaitable[None]]) -> None:
        self._notify = notify

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        before: ServedCatalog | None = None
        try:
            for update in self._watch(self._stop):
                touched = [change.entry.folder for change in update.changes]
                served = serve_catalog(update.catalog, before=before, touched=touched)
                tools = server_tools(served, self._open_session, scripts=self._scripts)
                snapshot = Snapshot(served, tools)
                loop.call_soon_threadsafe(self._take, snapshot, before)
                before = served
        except Exception as error:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._fail, error)

    def _take(self, snapshot: Snapshot, before: ServedCatalog | None) -> None:
        self._snapshot = snapshot
        self._arrived.set()
        if before is not None and self._notify is not None:
            task = asyncio.ensure_future(self._notify(_changed(before, snapshot.catalog)))
            self._notifying.add(task)
            task.add_done_callback(self._notifying.discard)

    def _fail(self, error: Exception) -> None:
        """Passes the error to callers that wait for the first snapshot; later ones keep the last good snapshot."""
        if not self._arrived.is_set():
            self._snapshot = error
            self._arrived.set()
        else:
            _log.warning("changes on disk are no longer seen: %s", error)


def _changed(before: ServedCatalog, after: ServedCatalog) -> ListChanges:
    return ListChanges(
        resources=[each.entry for each in before.listed] != [each.entry for each in after.listed],
        prompts=before.for_people != after.for_people,
        tools=before.for_models != after.for_models,
    )
