"""Both engines hold the one suite."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from metier.registry.domain.protocols import RegistryStore
from metier.registry.domain.records import PackageFilters, Sort
from metier.registry.store import open_store
from metier.testing import RegistryStoreConformance, run_now
from metier.testing.registry import draft
from registry.servers import Postgres


class TestSqlite(RegistryStoreConformance):
    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[RegistryStore]:
        store = await open_store(f"sqlite://{folder}/registry.sqlite")
        yield store
        await store.close()


class TestPostgres(RegistryStoreConformance):
    @pytest.fixture(autouse=True)
    def _server(self, postgres: Postgres) -> None:
        self.postgres = postgres

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[RegistryStore]:
        with self.postgres.database() as url:
            store = await open_store(url)
            yield store
            await store.close()


def test_writes_of_one_process_are_visible_to_the_others_at_once(tmp_path: Path) -> None:
    """Each store remembers rows; two of them on one file must never disagree."""

    async def both() -> None:
        one, two = await open_store(f"sqlite://{tmp_path}/r.sqlite"), await open_store(f"sqlite://{tmp_path}/r.sqlite")
        for number in range(60):
            writer, reader = (one, two) if number % 2 else (two, one)
            assert await reader.find_package("skill", f"s{number}") is None
            await writer.publish(draft(f"s{number}", "1.0.0"), None)
            for store in (one, two):
                card = await store.find_package("skill", f"s{number}")
                assert card is not None
                await store.count("2026-01-01", [(card.id, "1.0.0", str(store is one))])
            seen = [await store.find_package("skill", f"s{number}") for store in (one, two)]
            assert [card.downloads for card in seen if card] == [2, 2]
        await one.close()
        await two.close()

    run_now(both())


def test_a_writer_that_is_cancelled_leaves_the_way_free(tmp_path: Path) -> None:
    async def work() -> None:
        store = await open_store(f"sqlite://{tmp_path}/r.sqlite")
        for turn in range(40):
            task = asyncio.create_task(store.publish(draft(f"gone-{turn}"), None))
            await asyncio.sleep(turn / 20_000)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        _, _, created = await asyncio.wait_for(store.publish(draft("after"), None), 10)
        assert created
        for card in await store.browse(PackageFilters(readable_namespaces=None), sort=Sort.NAME, after=None, limit=100):
            assert await store.release(card.id, card.version) is not None
        await store.close()

    run_now(work())
