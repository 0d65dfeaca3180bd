"""Nothing that a caller may not read shows in corrections, warnings or counts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from metier.registry.server.background_jobs import run_due_jobs
from metier.registry.store import open_store
from metier.registry.store.migrate import _statements, migrations
from metier.registry.store.sql_store import open_engine
from registry.builders import Site, site


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


def corrected(here: Site, query: str, token: str = "") -> object:
    answers = {
        str(here.get(f"/skills?q={query}", token=token).json()["corrected"]),
        str(here.get(f"/skills?q={query}+x", token=token).json()["corrected"]),
    }
    assert len(answers) == 1
    return here.get(f"/skills?q={query}", token=token).json()["corrected"]


def test_only_words_that_the_caller_may_read_correct_a_query(here: Site) -> None:
    own, other = here.token("acme", "publish:acme"), here.token("other", "publish:other")
    here.publish("harbour", "1.0.0", description="Lists vessels")
    here.publish("secret", "1.0.0", token=own, query="", description="Plans projectnightingale")
    for token in ("", other):
        assert corrected(here, "projectnightingal", token) == {}
        assert "projectnightingale" not in here.get("/search?q=projectnightingal", token=token).text
        assert corrected(here, "vesels", token) == {"vesels": "vessels"}
    assert corrected(here, "projectnightingal", own) == {"projectnightingal": "projectnightingale"}


def test_a_private_word_does_not_hide_the_correction_to_a_public_one(here: Site) -> None:
    here.publish("harbour", "1.0.0", description="Lists vessels")
    before = corrected(here, "vessals")
    here.publish("secret", "1.0.0", query="", description="Loads vessals")
    assert corrected(here, "vessals") == before == {"vessals": "vessels"}


@pytest.mark.parametrize("change", ["visibility", "deleted", "quarantined", "yanked", "replaced"])
def test_a_word_is_no_longer_offered_when_its_package_is_gone(here: Site, change: str) -> None:
    here.publish("secret", "1.0.0", description="Plans projectnightingale")
    assert corrected(here, "projectnightingal") == {"projectnightingal": "projectnightingale"}
    match change:
        case "visibility":
            here.send("PUT", "/skills/secret/visibility", token=here.admin, json={"visibility": "private"})
        case "deleted":
            here.send("DELETE", "/skills/secret", token=here.admin)
        case "quarantined":
            here.send("PUT", "/skills/secret/quarantine", token=here.admin, json={"reason": "x"})
        case "yanked":
            here.post("/skills/secret/versions/1.0.0/yank", token=here.admin)
        case _:
            here.publish("secret", "1.1.0", description="Plans nothing")
    assert corrected(here, "projectnightingal") == {}


def test_a_popular_private_name_is_not_named_in_a_warning(here: Site) -> None:
    here.publish("projectheron", "1.0.0", query="")
    package = here.call(here.registry.store.find_package, "skill", "projectheron")
    seen = [(package.id, "1.0.0", f"client {number}") for number in range(150)]
    here.call(here.registry.store.count, "2026-01-01", seen)
    other = here.token("other", "publish:other")
    warned = here.publish("projectherom", "1.0.0", token=other, query="dry_run=1")
    assert warned.status_code == 200 and "projectheron" not in warned.text
    here.send("PUT", "/skills/projectheron/visibility", token=here.admin, json={"visibility": "public"})
    here.clock.move(seconds=60)
    assert "projectheron" in here.publish("projectherom", "1.0.0", token=other, query="dry_run=1").text
    here.send("PUT", "/skills/projectheron/visibility", token=here.admin, json={"visibility": "private"})
    assert "projectheron" not in here.publish("projectherom", "1.0.0", token=other, query="dry_run=1").text


def test_statistics_count_only_what_the_caller_may_read(here: Site) -> None:
    own, other = here.token("acme", "publish:acme"), here.token("other", "publish:other")
    here.publish("harbour", "1.0.0")
    before = here.get("/stats").json()
    assert (before["packages"], before["releases"]) == (1, 1)
    here.publish("secret", "1.0.0", token=own, query="")
    here.publish("secret", "1.1.0", token=own, query="", body="x\n")
    here.get("/skills/secret/download", token=own)
    here.call(here.registry.downloads.flush)
    assert here.get("/stats").json() == here.get("/stats", token=other).json() == before
    mine = here.get("/stats", token=own).json()
    assert (mine["packages"], mine["releases"], mine["downloads"]) == (2, 3, 1)
    assert mine == here.get("/stats", token=here.admin).json()


def test_a_database_from_before_gets_its_words_from_a_job(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        here.publish("harbour", "1.0.0", description="Lists vessels")

    async def as_before() -> None:
        engine = await open_engine(f"sqlite://{tmp_path}/registry.sqlite")
        async with engine.transaction() as transaction:
            await transaction.rows("delete from package_word")
            await transaction.rows("insert into job (kind, subject, due) values ('spell', '', 0)")
        await engine.close()

    asyncio.run(as_before())
    with site(tmp_path) as here:
        here.call(run_due_jobs, here.registry)
        assert corrected(here, "vesels") == {"vesels": "vessels"}
        assert not here.call(here.registry.store.engine.rows, "select 1 from job where kind = 'spell'")


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_a_database_of_the_version_before_is_migrated(tmp_path: Path, engine: str, request: pytest.FixtureRequest) -> None:
    async def body(url: str) -> None:
        opened = await open_engine(url)
        async with opened.transaction() as transaction:
            await transaction.rows("create table migration (number integer primary key, name text not null)")
            for migration in migrations(engine):
                if migration.number > 3:
                    continue
                for statement in _statements(migration.sql):
                    await transaction.rows(statement)
                await transaction.rows("insert into migration (number, name) values (?, ?)", (migration.number, migration.name))
            for statement in _OLD_ROWS:
                await transaction.rows(statement)
        await opened.close()
        store = await open_store(url)
        signed = await store.engine.rows("select version, signed from release order by version")
        jobs = await store.engine.rows("select kind from job")
        (event,) = await store.events()
        (token,) = await store.tokens()
        await store.close()
        assert signed == [("1.0.0", ""), ("1.1.0", "acme")]
        assert jobs == [("spell",)]
        assert (event[1].token, event[1].address, token.parent) == ("", "", None)

    if engine == "sqlite":
        asyncio.run(body(f"sqlite://{tmp_path}/registry.sqlite"))
    else:
        with request.getfixturevalue("postgres").database() as url:
            asyncio.run(body(url))


_RELEASE = (
    "insert into release (id, package, version, digest, archive, size, description, author, license, tags, details, published,"
    " publisher, verdict, findings, signed) values ({0}, 1, '1.{0}.0', '', '', 1, '', '', '', '', '', 1, 'acme', 'pass', '[]',"
    " 'acme')"
)
_PACKAGE = (
    "insert into package (id, kind, name, namespace, visibility, status, created, updated, version, signed)"
    " values (1, 'skill', 'pdf', 'acme', 'public', 'active', 1, 1, '1.1.0', 'acme')"
)
_OLD_ROWS = (
    _PACKAGE,
    _RELEASE.format(0),
    _RELEASE.format(1),
    "insert into signing_key (namespace, keyid, public, note, created, revoked) values ('acme', 'old', '', '', 1, 2)",
    "insert into signing_key (namespace, keyid, public, note, created) values ('acme', 'new', '', '', 1)",
    "insert into signature (release, kind, signer, keyid, payload, created) values (0, 'ed25519', 'acme', 'old', '', 1)",
    "insert into signature (release, kind, signer, keyid, payload, created) values (1, 'ed25519', 'acme', 'new', '', 1)",
    "insert into audit (at, actor, action, subject, details) values (1, 'ann', 'publish', 'skill:pdf', '')",
    "insert into token (hashed, prefix, holder, scopes, note, created) values ('x', 'mtr_x', 'acme', 'read', '', 1)",
)
