"""Every keeper of bytes holds the one suite."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import token_hex

import pytest

from metier.errors import UnavailableError
from metier.registry.blobs import CachedBlobs, FileBlobs, open_blobs
from metier.registry.domain.protocols import BlobStore
from metier.testing import BlobStoreConformance, run_now
from registry.servers import ObjectStore


class TestFiles(BlobStoreConformance):
    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[BlobStore]:
        yield FileBlobs(str(folder / "blobs"))


class TestCached(BlobStoreConformance):
    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[BlobStore]:
        yield CachedBlobs(FileBlobs(str(folder / "blobs")), size=100)


class TestObjects(BlobStoreConformance):
    @pytest.fixture(autouse=True)
    def _server(self, object_store: ObjectStore) -> None:
        self.store = object_store

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[BlobStore]:
        yield open_blobs(self.store.url(f"metier/{token_hex(4)}"))


class TestMemory(BlobStoreConformance):
    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[BlobStore]:
        yield open_blobs("memory://")


@pytest.mark.parametrize("data", [b"small", bytes(3_000_000)], ids=["small", "large"])
@pytest.mark.parametrize("damage", [b"", b"other", bytes(2_999_999) + b"x"], ids=["empty", "other", "same-size"])
def test_a_damaged_file_is_reported_until_the_bytes_are_written_again(tmp_path: Path, data: bytes, damage: bytes) -> None:
    name = hashlib.sha256(data).hexdigest()

    async def work() -> None:
        blobs = FileBlobs(str(tmp_path))
        await blobs.put(name, data)
        next(tmp_path.rglob(name)).write_bytes(damage)
        with pytest.raises(UnavailableError, match=f"archive {name} is damaged") as error:
            await blobs.get(name)
        assert not error.value.retryable
        await blobs.put(name, data)
        assert await blobs.get(name) == data

    run_now(work())


def test_a_file_that_garbage_collection_deletes_while_it_is_written_again_exists_afterwards(tmp_path: Path) -> None:
    name = hashlib.sha256(b"x").hexdigest()

    async def work() -> None:
        blobs = FileBlobs(str(tmp_path))
        for _ in range(200):
            await blobs.put(name, b"x")
            _, error = await asyncio.gather(blobs.delete(name), blobs.put(name, b"x"), return_exceptions=True)
            assert error is None

    run_now(work())
