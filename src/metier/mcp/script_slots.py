"""Bounds the scripts that a server runs at once, for all of its clients together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from metier.errors import UnavailableError

__all__ = ["ScriptSlots"]


class ScriptSlots:
    def __init__(self, *, running: int = 4, waiting: int = 16) -> None:
        self._free = asyncio.Semaphore(running)
        self._left = running + waiting

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Waits for a free slot. Raises UnavailableError if too many callers wait already."""
        if self._left <= 0:
            raise UnavailableError("too many scripts are running", hint="try again when some have ended")
        self._left -= 1
        try:
            async with self._free:
                yield
        finally:
            self._left += 1
