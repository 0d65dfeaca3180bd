"""Documents that are made from the files of a release: the readme and the comparison of two versions.

Their authors are not trusted, and rendering Markdown or comparing texts can take time that grows much faster than the text.
Each is made once, in a process that is ended when its budget is used up, and kept by the digest of the archive that it is
made from.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from html import escape

from metier.errors import UnavailableError
from metier.registry.domain.registry import WorkLimits
from metier.registry.workers import WorkBudgetError, WorkerPool

__all__ = ["Documents"]

_KEPT_BYTES = 16 * 1024 * 1024
_KEPT_FAILURES = 10_000
_LONGEST_PLAIN = 256 * 1024
Load = Callable[[], Awaitable[tuple[object, ...]]]
"""Returns the arguments of the function that makes a document."""


class Documents:
    def __init__(self, pool: WorkerPool, limits: WorkLimits) -> None:
        self._pool = pool
        self._limits = limits
        self._made: OrderedDict[str, str] = OrderedDict()
        self._size = 0
        self._too_slow: OrderedDict[str, None] = OrderedDict()
        self._under_way: dict[str, asyncio.Task[str]] = {}

    async def html(self, key: str, make: Callable[..., str], load: Load) -> str:
        """Returns the document with this key, which is made by a function of a module.

        Raises WorkBudgetError if it is too expensive, and UnavailableError if it is not ready in time.
        """
        made = self._made.get(key)
        if made is not None:
            self._made.move_to_end(key)
            return made
        if key in self._too_slow:
            raise _too_slow()
        task = self._under_way.get(key)
        if task is None:
            # One task for all who ask, which goes on if they leave.
            task = self._under_way[key] = asyncio.create_task(self._make(key, make, load))
            task.add_done_callback(lambda done: (self._under_way.pop(key, None) and done.cancelled()) or done.exception())
        try:
            return await asyncio.wait_for(asyncio.shield(task), self._limits.page_wait_seconds)
        except TimeoutError:
            raise UnavailableError("this document is not ready yet", hint="try again in a moment") from None

    async def readme(self, key: str, make: Callable[[str], str], read: Callable[[], Awaitable[str]]) -> str:
        """Returns the document, or its escaped text with a note if it cannot be rendered."""
        text: str | None = None

        async def load() -> tuple[str]:
            nonlocal text
            text = await read()
            return (text,)

        try:
            return await self.html(key, make, load)
        except (WorkBudgetError, UnavailableError) as error:
            return _plain(text if text is not None else await read(), str(error))

    def _forget(self, key: str, done: asyncio.Task[str]) -> None:
        del self._under_way[key]
        if not done.cancelled():
            # Read, because all who asked may have left.
            done.exception()

    async def _make(self, key: str, make: Callable[..., str], load: Load) -> str:
        arguments = await load()
        try:
            made = await self._pool.run(make, *arguments, seconds=self._limits.page_seconds)
        except WorkBudgetError:
            self._too_slow[key] = None
            while len(self._too_slow) > _KEPT_FAILURES:
                self._too_slow.popitem(last=False)
            raise _too_slow() from None
        self._made[key] = made
        self._size += len(made)
        while self._size > _KEPT_BYTES:
            self._size -= len(self._made.popitem(last=False)[1])
        return made


def _too_slow() -> WorkBudgetError:
    return WorkBudgetError("this document is too expensive to show", hint="download the archive to read it")


def _plain(text: str, reason: str) -> str:
    shown = text[:_LONGEST_PLAIN]
    return f'<p class="soft">Shown as plain text: {escape(reason)}.</p><pre><code>{escape(shown)}</code></pre>'
