"""Turns for uploads, so that one publisher cannot make the others wait.

An upload is in flight from its first byte to its answer; it waits on the disk. It is taken into memory only when it has its
turn, of which one publisher never has all.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator

from metier.errors import MetierError, UnavailableError

from .access import Caller

__all__ = ["TooManyUploadsError", "UploadTurns"]


class TooManyUploadsError(MetierError):
    code = "too-many-uploads"

    def __init__(self, limit: int) -> None:
        super().__init__(f"this token has {limit} uploads under way already", hint="wait for one of them to end")


class UploadTurns:
    def __init__(self, size: int, *, most: int, most_per_token: int) -> None:
        self._all = asyncio.Semaphore(size)
        self._share = max(1, size - 1)
        self._most = most
        self._most_per_token = most_per_token
        self._in_flight: Counter[int] = Counter()
        self._own: dict[int, asyncio.Semaphore] = {}

    @contextlib.contextmanager
    def in_flight(self, caller: Caller) -> Iterator[None]:
        """Counts an upload. Raises if its token, or the registry, has too many."""
        key = _key(caller)
        if self._in_flight[key] >= self._most_per_token:
            raise TooManyUploadsError(self._most_per_token)
        if self._in_flight.total() >= self._most:
            raise UnavailableError("too many uploads are under way", hint="try again in a moment")
        self._in_flight[key] += 1
        self._own.setdefault(key, asyncio.Semaphore(self._share))
        try:
            yield
        finally:
            self._in_flight[key] -= 1
            if not self._in_flight[key]:
                del self._in_flight[key], self._own[key]

    @contextlib.asynccontextmanager
    async def turn(self, caller: Caller) -> AsyncIterator[None]:
        """Waits until the upload may use memory and a process."""
        async with self._own.get(_key(caller)) or contextlib.nullcontext(), self._all:
            yield


def _key(caller: Caller) -> int:
    return caller.token.id if caller.token else 0
