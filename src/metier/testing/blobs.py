"""Conformance suite for the archives of a registry."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from metier.errors import NotFoundError
from metier.registry import BlobStore

from .fakes import run_now

__all__ = ["BlobStoreConformance"]


class BlobStoreConformance:
    """Subclass it, say how yours are opened, and let pytest collect it."""

    def opened(self, folder: Path) -> AbstractAsyncContextManager[BlobStore]:
        """Empty, and closed at the end of the block."""
        raise NotImplementedError

    def _with(self, folder: Path, body: Callable[[BlobStore], Awaitable[None]]) -> None:
        async def run() -> None:
            async with self.opened(folder) as blobs:
                await body(blobs)

        run_now(run())

    def test_bytes_are_read_back_by_their_hash(self, tmp_path: Path) -> None:
        async def body(blobs: BlobStore) -> None:
            for data in (b"", b"\x00\xff" * 10, bytes(3_000_000)):
                name = hashlib.sha256(data).hexdigest()
                assert not await blobs.has(name)
                await blobs.put(name, data)
                await blobs.put(name, data)
                assert await blobs.has(name)
                assert await blobs.get(name) == data
                pieces = [piece async for piece in blobs.chunks(name)]
                assert b"".join(pieces) == data
                assert max(map(len, pieces)) <= 1_000_000

        self._with(tmp_path, body)

    def test_bytes_under_a_wrong_name_are_not_taken(self, tmp_path: Path) -> None:
        async def body(blobs: BlobStore) -> None:
            try:
                await blobs.put("0" * 64, b"x")
            except ValueError:
                assert not await blobs.has("0" * 64)
                return
            raise AssertionError("a name is a promise about bytes")

        self._with(tmp_path, body)

    def test_a_missing_item_is_not_found(self, tmp_path: Path) -> None:
        async def body(blobs: BlobStore) -> None:
            assert await _is_missing(blobs, "0" * 64)
            await blobs.delete("0" * 64)
            await blobs.ping()

        self._with(tmp_path, body)

    def test_all_are_listed_and_can_be_deleted(self, tmp_path: Path) -> None:
        async def body(blobs: BlobStore) -> None:
            names = sorted(hashlib.sha256(bytes([n])).hexdigest() for n in range(5))
            for n in range(5):
                await blobs.put(hashlib.sha256(bytes([n])).hexdigest(), bytes([n]))
            listed = [row async for row in blobs.names()]
            assert sorted(name for name, _, _ in listed) == names
            assert all(written > 1_600_000_000_000 and size == 1 for _, written, size in listed)
            await blobs.delete(names[0])
            assert sorted([name async for name, _, _ in blobs.names()]) == names[1:]
            assert await _is_missing(blobs, names[0])

        self._with(tmp_path, body)


async def _is_missing(blobs: BlobStore, name: str) -> bool:
    try:
        await blobs.get(name)
    except NotFoundError:
        return True
    return False
