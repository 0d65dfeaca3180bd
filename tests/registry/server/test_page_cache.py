"""Kept responses: the same as new ones, gone with any commit, and never shared with a caller who has a token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from metier.registry.store.sql_store import open_store
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
