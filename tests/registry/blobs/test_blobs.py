"""Every keeper of bytes holds the one suite."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import token_hex

import pytest

from metier.registry.blobs import CachedBlobs, FileBlobs, open_blobs
from metier.registry.domain.protocols import BlobStore
from metier.testing import BlobStoreConformance
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
