"""The location of a registry's data: a database and archives."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator

from metier.values import dataclass

from .blobs import open_blobs
from .domain.protocols import BlobStore
from .store import SqlStore, open_store

__all__ = ["RegistryLocation"]


@dataclass(frozen=True, slots=True)
class RegistryLocation:
    """The two addresses of a registry's data."""

    db: str
    """`sqlite:///path` or `postgresql://…`"""
    blobs: str
    """`file:///path`, `s3://bucket`, `gs://bucket` or `az://container`"""

    @classmethod
    def in_folder(cls, folder: str) -> RegistryLocation:
        whole = os.path.abspath(folder)
        return cls(f"sqlite://{whole}/registry.sqlite", f"file://{whole}/blobs")

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[SqlStore, BlobStore]]:
        blobs = open_blobs(self.blobs)
        store = await open_store(self.db)
        try:
            yield store, blobs
        finally:
            await store.close()
            await blobs.close()
