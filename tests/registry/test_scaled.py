"""The same registry on PostgreSQL and an object store: two addresses are all that changes."""

from __future__ import annotations

import asyncio
import hashlib
import urllib.request
from pathlib import Path
from secrets import token_hex

import pytest

from metier.errors import UnavailableError
from metier.registry.store import open_store
from metier.registry.store.migrate import migrations
from metier.testing import run_now
from registry.builders import site
from registry.servers import ObjectStore, Postgres


def test_two_addresses_change_where_everything_is_and_nothing_else(
    tmp_path: Path, postgres: Postgres, object_store: ObjectStore
) -> None:
    with postgres.database() as url, site(tmp_path, db=url, blobs=object_store.url(f"metier/{token_hex(4)}")) as here:
        assert here.publish("pdf", "1.0.0", description="Reads PDF files.").status_code == 201
        assert here.publish("pdf", "1.0.0", body="Other.\n").status_code == 409
        about = here.get("/skills/pdf").json()
        assert here.get("/skills?q=pdf").json()["skills"] == [about]
        assert here.get("/skills/pdf/files/SKILL.md").status_code == 200
        link = here.get("/skills/pdf/1.0.0.zip")
        assert link.status_code == 302
        with urllib.request.urlopen(link.headers["location"], timeout=10) as answer:
            assert "sha256:" + hashlib.sha256(answer.read()).hexdigest() == about["archive_digest"]
        here.call(here.registry.downloads.flush)
        assert here.get("/skills/pdf").json()["downloads"] == 1
        assert here.get("/readyz").status_code == 200
    assert not (tmp_path / "registry.sqlite").exists()
    assert not (tmp_path / "blobs").exists()


def test_bytes_can_be_sent_by_the_registry_itself(tmp_path: Path, object_store: ObjectStore) -> None:
    with site(tmp_path, blobs=object_store.url(f"metier/{token_hex(4)}"), proxy_blobs=True) as here:
        here.publish("pdf", "1.0.0")
        answer = here.get("/skills/pdf/1.0.0.zip")
        assert answer.status_code == 200
        assert "sha256:" + hashlib.sha256(answer.content).hexdigest() == here.get("/skills/pdf").json()["archive_digest"]


def test_workers_that_start_at_once_migrate_once(postgres: Postgres, tmp_path: Path) -> None:
    async def start(url: str) -> None:
        stores = await asyncio.gather(*(open_store(url) for _ in range(4)))
        rows = await stores[0].engine.rows("select number from migration order by number")
        assert [row[0] for row in rows] == [migration.number for migration in migrations(stores[0].engine.dialect)]
        for store in stores:
            await store.close()

    with postgres.database() as url:
        run_now(start(url))
    run_now(start(f"sqlite://{tmp_path}/r.sqlite"))


def test_a_database_from_the_future_is_left_alone(tmp_path: Path) -> None:
    async def work() -> None:
        store = await open_store(f"sqlite://{tmp_path}/r.sqlite")
        async with store.engine.transaction() as rows:
            await rows.rows("insert into migration (number, name) values (9999, 'tomorrow')")
        await store.close()
        with pytest.raises(UnavailableError, match="migration 9999"):
            await open_store(f"sqlite://{tmp_path}/r.sqlite")

    run_now(work())
