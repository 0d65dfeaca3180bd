"""Recently used blobs in memory. Names are digests, so cached blobs never become stale."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator

from metier.registry.domain.protocols import BlobStore

__all__ = ["LARGEST_CACHED", "CachedBlobs"]

LARGEST_CACHED = 1024 * 1024
"""Bytes of a blob that is kept in memory; larger ones are read in pieces."""


class CachedBlobs:
    def __init__(self, blobs: BlobStore, *, size: int) -> None:
        self._blobs = blobs
        self._size = size
        self._used = 0
        self._cache: OrderedDict[str, bytes] = OrderedDict()

    async def get(self, name: str) -> bytes:
        data = self._cache.get(name)
        if data is not None:
            self._cache.move_to_end(name)
            return data
        data = await self._blobs.get(name)
        if len(data) <= LARGEST_CACHED:
            self._used += len(data) - len(self._cache.pop(name, b""))
            self._cache[name] = data
            while self._used > self._size:
                self._used -= len(self._cache.popitem(last=False)[1])
        return data

    def chunks(self, name: str) -> AsyncIterator[bytes]:
        return self._blobs.chunks(name)

    async def put(self, name: str, data: bytes) -> None:
        await self._blobs.put(name, data)

    async def has(self, name: str) -> bool:
        return await self._blobs.has(name)

    async def delete(self, name: str) -> None:
        self._used -= len(self._cache.pop(name, b""))
        await self._blobs.delete(name)

    def names(self) -> AsyncIterator[tuple[str, int, int]]:
        return self._blobs.names()

    async def link(self, name: str, *, filename: str, seconds: int) -> str | None:
        return await self._blobs.link(name, filename=filename, seconds=seconds)

    async def ping(self) -> None:
        await self._blobs.ping()

    async def clock(self) -> int:
        return await self._blobs.clock()

    async def close(self) -> None:
        await self._blobs.close()
