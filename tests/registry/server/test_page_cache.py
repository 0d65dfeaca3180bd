"""Kept responses: the same as new ones, gone with any commit, and never shared with a caller who has a token."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from metier.registry.domain.access import ANONYMOUS
from metier.registry.server.page_cache import PageCache
from metier.registry.server.responses import HttpResponse
from metier.registry.server.routing import RegistryRequest, Route
from metier.registry.store.sql_store import open_store
from metier.testing.registry import draft
from registry.builders import Site, site
from registry.servers import Postgres

PATHS = (
    "/", "/search?q=tide", "/owner/admin", "/skill/tide-tables", "/skill/tide-tables/files", "/skill/tide-tables/versions",
    "/skill/tide-tables/security", "/skills?q=tide", "/skills/tide-tables/versions", "/skills/tide-tables/versions/1.0.0",
)  # fmt: skip


@pytest.fixture(params=["sqlite", "postgresql"])
def shop(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    if request.param == "sqlite":
        with site(tmp_path) as made:
            made.publish("tide-tables", "1.0.0", description="Reads tide tables")
            yield made
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    with postgres.database() as db, site(tmp_path, db=db) as made:
        made.publish("tide-tables", "1.0.0", description="Reads tide tables")
        yield made


def test_a_kept_response_is_the_same_and_has_an_etag(shop: Site) -> None:
    for path in PATHS:
        first = shop.get(path)
        again = shop.get(path)
        assert (first.status_code, again.status_code) == (200, 200), path
        assert again.content == first.content
        assert again.headers["etag"] == first.headers["etag"]
        assert again.headers["cache-control"] == "private, no-cache"
        same = shop.get(path, headers={"if-none-match": first.headers["etag"]})
        assert (same.status_code, same.content) == (304, b"")
        # The others may be gone: PostgreSQL counts the commits of every database of the server.
        assert path.partition("?")[0] in {key[1] for key in shop.app.pages._kept}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/skills/tide-tables/visibility", {"visibility": "private"}),
        ("PUT", "/skills/tide-tables/quarantine", {"reason": "x"}),
        ("DELETE", "/skills/tide-tables", {}),
    ],
)
def test_what_is_no_longer_online_is_gone_with_the_commit(shop: Site, method: str, path: str, body: dict[str, str]) -> None:
    assert all(shop.get(each).status_code == 200 for each in PATHS)
    assert shop.send(method, path, token=shop.admin, json=body).is_success
    assert shop.get("/skill/tide-tables").status_code in (403, 404)
    assert shop.get("/skills/tide-tables/versions").status_code in (403, 404)
    assert shop.get("/skills?q=tide").json()["skills"] == []
    assert "tide-tables" not in shop.get("/search?q=tide").text.replace('value="tide', "")


def test_a_commit_of_another_process_counts(shop: Site) -> None:
    before = shop.get("/skill/tide-tables").text

    async def change() -> None:
        other = await open_store(shop.app.options.db)
        async with other.engine.transaction() as transaction:
            await transaction.rows("update package set description = 'Something new'")
            await transaction.rows("update release set description = 'Something new'")
        await other.close()

    shop.call(change)
    after = shop.get("/skill/tide-tables").text
    assert "Something new" in after and "Something new" not in before


def test_callers_with_a_token_or_a_cookie_get_and_leave_nothing(shop: Site) -> None:
    shop.publish("harbour-secrets", "1.0.0", query="visibility=private", description="Reads tide secrets")
    mine = shop.get("/skills?q=tide", token=shop.admin).json()["skills"]
    assert {skill["name"] for skill in mine} == {"tide-tables", "harbour-secrets"}
    assert [skill["name"] for skill in shop.get("/skills?q=tide").json()["skills"]] == ["tide-tables"]
    assert {skill["name"] for skill in shop.get("/skills?q=tide", token=shop.admin).json()["skills"]} == {
        "tide-tables",
        "harbour-secrets",
    }
    shop.post("/login", data={"token": shop.admin}, headers={"origin": "http://registry.test"}, follow_redirects=False)
    assert "harbour-secrets" in shop.get("/search?q=tide").text
    shop.client.cookies.clear()
    assert "harbour-secrets" not in shop.get("/search?q=tide").text


def test_a_part_of_a_page_is_not_the_page(shop: Site) -> None:
    assert "</html>" in shop.get("/search?q=tide").text
    assert "</html>" not in shop.get("/search?q=tide", headers={"hx-request": "true"}).text
    assert "</html>" in shop.get("/search?q=tide").text


def test_a_response_lives_for_a_minute_because_pages_show_days(shop: Site) -> None:
    shop.get("/skill/tide-tables")
    assert len(shop.app.pages._kept) == 1
    shop.clock.move(days=2)
    shop.get("/skills?q=tide")
    assert len(shop.app.pages._kept) == 1


def test_the_oldest_go_first_when_there_are_too_many(shop: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metier.registry.server.page_cache._KEPT_BYTES", 6_000)
    for number in range(30):
        shop.get(f"/skills?q=tide&limit={number + 1}")
    assert 0 < len(shop.app.pages._kept) < 10


def kept_paths(shop: Site) -> set[str]:
    return {key[1] for key in shop.app.pages._kept}


def test_a_publish_ends_lists_and_its_own_pages_and_keeps_those_of_others(shop: Site) -> None:
    shop.publish("harbour-lights", "1.0.0", description="Lists lights")
    for path in (*PATHS, "/skill/harbour-lights"):
        assert shop.get(path).status_code == 200
    shop.publish("harbour-lights", "1.0.1", description="Lists all lights")
    assert "Lists all lights" in shop.get("/skill/harbour-lights").text
    assert kept_paths(shop) == {
        "/skill/harbour-lights", "/skill/tide-tables", "/skill/tide-tables/files", "/skill/tide-tables/versions",
        "/skill/tide-tables/security", "/skills/tide-tables/versions", "/skills/tide-tables/versions/1.0.0",
    }  # fmt: skip


CHANGES = (
    "update release set yanked = 1 where package = {id}",
    "insert into owner (package, namespace, place) values ({id}, 'else', 1)",
    "update owner set namespace = 'other' where package = {id} and place = 1",
    "delete from owner where package = {id} and place = 1",
    "insert into tag (package, tag, version) values ({id}, 'beta', '1.0.0')",
    "delete from tag where package = {id}",
    "insert into download_day (package, day, version, downloads) values ({id}, '2026-01-01', '1.0.0', 5)",
    "insert into signature (release, kind, signer, keyid, payload, created) select id, 'k', 'x', 'y', 'z', 1 from release",
    "delete from signature",
    "update package set downloads = downloads + 1 where id = {id}",
    "delete from package where id = {id}",
)


def test_every_change_of_what_a_page_shows_ends_its_life(shop: Site) -> None:
    async def change(sql: str) -> frozenset[tuple[str, str]]:
        other = await open_store(shop.app.options.db)
        mark = (await other.changes(None)).mark
        async with other.engine.transaction() as transaction:
            await transaction.rows(sql.format(id=1))
        changes = await other.changes(mark)
        assert (await other.changes(changes.mark)).packages == frozenset()
        await other.close()
        return changes.packages or frozenset()

    for sql in CHANGES:
        assert shop.call(change, sql) == {("skill", "tide-tables")}, sql
    assert shop.get("/skill/tide-tables").status_code == 404


def test_a_transaction_that_began_earlier_and_ends_later_is_a_change(postgres: Postgres) -> None:
    async def run() -> None:
        with postgres.database() as url:
            store = await open_store(url)
            for name in ("early", "late"):
                await store.publish(draft(name, "1.0.0"), None)
            async with store.engine.transaction() as early:
                await early.rows("update package set downloads = 1 where name = 'early'")
                await store.count("2026-01-01", [(2, "1.0.0", "someone")])
                mark = (await store.changes(None)).mark
                assert (await store.changes(mark)).packages == frozenset()
            assert (await store.changes(mark)).packages == frozenset({("skill", "early")})
            await store.close()

    asyncio.run(run())


def test_requests_at_the_same_time_make_a_page_once_and_none_gets_an_old_one(shop: Site) -> None:
    pages, made = PageCache(), list[int]()

    async def nothing() -> MutableMapping[str, Any]:
        return {}

    async def run() -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def slow(_: RegistryRequest) -> HttpResponse:
            number = len(made)
            made.append(number)
            begun.set()
            if number == 0:
                await go_on.wait()
            return HttpResponse(b"%d" % number, content_type=b"text/plain")

        route = Route(method="GET", path="/skill/{name}", endpoint=slow, subject="skill")

        async def ask() -> bytes:
            request = RegistryRequest({"type": "http", "path": "/x", "query_string": b"", "headers": []}, nothing)
            request.params, request.base, request.registry, request.caller = (
                {"name": "tide-tables"},
                "",
                shop.registry,
                ANONYMOUS,
            )
            response = await pages.respond(request, route)
            assert isinstance(response, HttpResponse)
            return response.body

        first = asyncio.create_task(ask())
        await begun.wait()
        second = asyncio.create_task(ask())
        for _ in range(50):
            await asyncio.sleep(0.001)
        assert made == [0]
        card = await shop.registry.store.find_package("skill", "tide-tables")
        assert card
        await shop.registry.store.count("2026-01-01", [(card.id, "1.0.0", "someone")])
        after_the_change = await ask()
        go_on.set()
        assert [await one for one in (first, second)] == [b"0", b"0"]
        assert after_the_change == b"1"
        assert await ask() == b"1"

    shop.call(run)
