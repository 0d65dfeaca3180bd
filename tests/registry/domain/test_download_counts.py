"""Downloads are counted once per identity and day, and the database does not reveal the identity."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.builders import Site, site


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        found.publish("pdf", "1.0.0")
        yield found


def counted(here: Site) -> int:
    here.call(here.registry.downloads.flush)
    return int(here.get("/skills/pdf").json()["downloads"])


def test_one_visitor_counts_once_a_day_however_often_it_comes(here: Site) -> None:
    for path in ("/skills/pdf/download", "/skills/pdf/1.0.0.zip", "/api/v1/download?slug=pdf"):
        here.get(path)
    assert counted(here) == 1
    here.get("/skills/pdf/download")
    assert counted(here) == 1
    here.get("/skills/pdf/download", token=here.token("acme", "read"))
    assert counted(here) == 2
    here.clock.move(days=1)
    here.get("/skills/pdf/download")
    assert counted(here) == 3
    days = here.get("/skills/pdf/stats?days=3").json()["days"]
    assert [day["downloads"] for day in days] == [0, 2, 1]


def test_looking_is_not_downloading(here: Site) -> None:
    here.send("HEAD", "/skills/pdf/download")
    here.get("/skills/pdf")
    here.get("/skills/pdf/files/SKILL.md")
    assert counted(here) == 0


def test_addresses_are_not_kept(here: Site, tmp_path: Path) -> None:
    here.get("/skills/pdf/download")
    counted(here)
    with sqlite3.connect(tmp_path / "registry.sqlite") as database:
        ((day, _, identity),) = database.execute("select * from download_seen").fetchall()
    database.close()
    assert day == "2026-01-01"
    assert len(identity) == 32
    assert "testclient" not in identity


def test_identities_are_deleted_after_two_days_and_the_count_is_kept(here: Site, tmp_path: Path) -> None:
    from metier.registry.server.background_jobs import run_due_jobs

    here.get("/skills/pdf/download")
    assert counted(here) == 1
    here.clock.move(days=3)
    here.call(here.registry.store.enqueue, "forget", "", due=0)
    here.call(run_due_jobs, here.registry)
    with sqlite3.connect(tmp_path / "registry.sqlite") as database:
        assert database.execute("select count(*) from download_seen").fetchone() == (0,)
    database.close()
    assert counted(here) == 1


def test_recent_downloads_make_a_package_trend(here: Site) -> None:
    here.publish("other", "1.0.0")
    here.get("/skills/pdf/download")
    counted(here)
    (first,) = here.get("/trending").json()["trending"]
    assert (first["skill"]["name"], first["recent"]) == ("pdf", 1)
    here.clock.move(days=30)
    assert here.get("/trending").json()["trending"] == []


def test_pictures_for_readmes_are_harmless_and_say_the_numbers(here: Site) -> None:
    here.get("/skills/pdf/download")
    counted(here)
    badge = here.get("/skills/pdf/badge.svg?show=downloads")
    assert badge.headers["content-type"] == "image/svg+xml"
    assert "downloads: 1<" in badge.text
    chart = here.get("/skills/pdf/chart.svg?days=7").text
    assert "2026-01-01: 1" in chart
    assert "script" not in chart + badge.text
