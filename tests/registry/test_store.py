"""Both engines hold the one suite."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from metier.registry.ports import Store
from metier.registry.store import open_store
from metier.testing import RegistryStoreConformance
from registry.servers import Postgres


class TestSqlite(RegistryStoreConformance):
    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[Store]:
        store = await open_store(f"sqlite://{folder}/registry.sqlite")
        yield store
        await store.close()


class TestPostgres(RegistryStoreConformance):
    @pytest.fixture(autouse=True)
    def _server(self, postgres: Postgres) -> None:
        self.postgres = postgres

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[Store]:
        with self.postgres.database() as url:
            store = await open_store(url)
            yield store
            await store.close()
