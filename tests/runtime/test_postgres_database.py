"""Stores on PostgreSQL: the suites, and an address, a server or a schema that is wrong."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import python
from metier.agents import ConversationStore, SqlConversationStore
from metier.errors import MetierError, UnavailableError, UsageError
from metier.runtime import (
    SessionStore,
    SqlApprovals,
    SqlDialect,
    SqlSessionStore,
    StoredApprovals,
    StoreSchema,
    Usage,
    open_database,
)
from metier.testing import ConversationStoreConformance, SessionStoreConformance, StoredApprovalsConformance
from metier.testing.stores import active_skill
from registry.servers import OwnPostgres, Postgres, free_port

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: uv sync --extra postgresql")
SECRET = "hunter2-5309"


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    with postgres.database() as address:
        yield address


class TestPostgresSessionStore(SessionStoreConformance):
    @pytest.fixture(autouse=True)
    def _use(self, url: str) -> None:
        self.url = url

    def new_store(self, folder: Path) -> SessionStore:
        return SqlSessionStore(self.url)


class TestPostgresConversations(ConversationStoreConformance):
    @pytest.fixture(autouse=True)
    def _use(self, url: str) -> None:
        self.url = url

    def new_store(self, folder: Path) -> ConversationStore:
        return SqlConversationStore(self.url)

    def store_code(self, folder: Path) -> str:
        return f"from metier.agents import SqlConversationStore\nstore = SqlConversationStore({self.url!r})"


class TestPostgresApprovals(StoredApprovalsConformance):
    @pytest.fixture(autouse=True)
    def _use(self, url: str) -> None:
        self.url = url

    def new_approvals(self, folder: Path) -> StoredApprovals:
        return SqlApprovals(self.url)


def test_every_store_shares_one_database_with_other_programs(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("create table session (mine integer)")
    store = SqlSessionStore(url)
    store.add_usage("s", "pdf", "2026-01-01", Usage(runs=1, seconds=0.5))
    SqlConversationStore(url).begin("c", "hello")
    assert SqlApprovals(url).all == ()
    with psycopg.connect(url, autocommit=True) as other:
        assert other.execute("select count(*) from public.session").fetchone() == (0,)
        found = other.execute("select part, number from metier.version order by part").fetchall()
    assert found == [("approvals", 1), ("conversations", 1), ("sessions", 2)]
    (row,) = store.usage()
    assert (row.usage.runs, row.usage.seconds, type(row.usage.runs)) == (1, 0.5, int)


def test_a_database_of_a_newer_metier_is_not_changed(url: str) -> None:
    SqlSessionStore(url).sessions()
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("update metier.version set number = 99")
    with pytest.raises(UnavailableError, match="was written by a newer metier") as found:
        SqlSessionStore(url).sessions()
    assert found.value.hint == "update metier, or use another database"


def test_an_older_schema_is_migrated_in_both_databases(url: str, tmp_path: Path) -> None:
    first = "create table thing (id {text} primary key) {clustered}"
    old, new = (
        StoreSchema("things", (first,)),
        StoreSchema("things", (first, "alter table thing add column size integer default 3")),
    )
    for location in (url, str(tmp_path / "things.sqlite")):
        before = open_database(location, old)
        with before.write("a") as db:
            db.execute("insert into thing values (?)", ("a",))
        before.close()
        with open_database(location, new).read() as db:
            assert [tuple(row) for row in db.execute("select id, size from thing").fetchall()] == [("a", 3)]
        with pytest.raises(UnavailableError, match="newer metier"), open_database(location, old).read():
            pass


def test_a_statement_of_one_dialect_is_left_out_of_the_other() -> None:
    schema = StoreSchema("things", ("create table a (x {bytes}); sqlite: one; postgresql: two",))
    assert list(schema.statements(SqlDialect.SQLITE, after=0)) == ["create table a (x blob)", "one"]
    assert list(schema.statements(SqlDialect.POSTGRESQL, after=0)) == ["create table a (x bytea)", "two"]


def test_changes_of_one_session_by_several_processes_are_all_kept(url: str) -> None:
    code = """
    import sys
    from metier.runtime import SqlSessionStore
    from metier.testing.stores import active_skill
    store = SqlSessionStore(sys.argv[1])
    for number in range(10):
        with store.edit("s") as rows:
            rows.active = (*rows.active, active_skill(f"skill-{sys.argv[2]}-{number}"))
        store.add_usage("s", "pdf", "2026-01-01", __import__("metier.runtime").runtime.Usage(runs=1))
    """
    processes = [python(code, url, name) for name in ("a", "b")]
    assert [process.communicate(timeout=60)[1] for process in processes] == ["", ""]
    store = SqlSessionStore(url)
    assert len(store.active("s")) == 20
    assert [row.usage.runs for row in store.usage("s")] == [20]


def test_a_session_that_another_process_changes_is_in_use(url: str) -> None:
    store, other = SqlSessionStore(url), SqlSessionStore(url, timeout=0.05)
    with store.edit("s") as rows:
        rows.active = (active_skill("pdf"),)
        with pytest.raises(UnavailableError, match="in use by another process") as busy:
            other.add_usage("s", "pdf", "2026-01-01", Usage(runs=1))
        assert busy.value.retryable
        other.add_usage("t", "pdf", "2026-01-01", Usage(runs=1))
    other.add_usage("s", "pdf", "2026-01-01", Usage(runs=1))
    assert len(other.usage()) == 2


def test_a_fork_connects_anew(url: str) -> None:
    code = """
    import os, sys
    from metier.runtime import SqlSessionStore
    from metier.testing.stores import active_skill
    store = SqlSessionStore(sys.argv[1])
    store.active("s")
    child = os.fork()
    with store.edit("s") as rows:
        rows.active = (*rows.active, active_skill("parent" if child else "child"))
    if child:
        os.waitpid(child, 0)
        print(sorted(each.name for each in store.active("s")))
    """
    out, err = python(code, url).communicate(timeout=60)
    assert out == "['child', 'parent']\n", err


def test_a_restart_of_the_server_is_survived() -> None:
    server = OwnPostgres()
    try:
        server.start()
        sessions, chats = SqlSessionStore(server.url), SqlConversationStore(server.url)
        sessions.add_usage("s", "pdf", "2026-01-01", Usage(runs=1))
        end = chats.hold("one")
        server.stop()
        with pytest.raises(UnavailableError, match=r"cannot use postgresql://127\.0\.0\.1") as away:
            sessions.usage()
        assert (away.value.hint, away.value.exit_status) == ("start the server, or check the address in session.store", 4)
        server.start()
        assert len(sessions.usage()) == 1
        sessions.add_usage("s", "csv", "2026-01-01", Usage(runs=1))
        end()
        chats.hold("one")()
    finally:
        server.remove()


@pytest.mark.parametrize(
    ("address", "message", "hint"),
    [
        ("postgresql://ada:{secret}@127.0.0.1:{away}/x", "Connection refused", "start the server"),
        ("postgresql://tester:{secret}@127.0.0.1:{port}/nowhere", 'database "nowhere" does not exist', "create it"),
        ("postgresql://nobody:{secret}@127.0.0.1:{port}/postgres", 'role "nobody" does not exist', "create it"),
        ("postgresql://tester@127.0.0.1:{port}/nowhere?password={secret}", "does not exist", "create it"),
        ("postgresql://ada:{secret}@no-such-host.invalid/x", "resolve host", "check the host"),
    ],
)
def test_a_database_that_cannot_be_reached_is_one_sentence_without_the_password(
    postgres: Postgres, address: str, message: str, hint: str
) -> None:
    url = address.format(secret=SECRET, away=free_port(), port=postgres.port)
    with pytest.raises(UnavailableError, match=message) as found:
        SqlSessionStore(url).sessions()
    assert found.value.hint.startswith(hint)
    assert "\n" not in str(found.value)
    check_secret(found.value)


def test_a_wrong_password_is_one_sentence_without_it(postgres: Postgres) -> None:
    """A server that wants a password."""
    rules = Path(postgres.folder, "data", "pg_hba.conf")
    before = rules.read_text()
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        connection.execute("create role guest login password 'right'")
        try:
            rules.write_text(f"host all guest 127.0.0.1/32 scram-sha-256\n{before}")
            connection.execute("select pg_reload_conf()")
            url = f"postgresql://guest:{SECRET}@127.0.0.1:{postgres.port}/postgres"
            with pytest.raises(UnavailableError, match='password authentication failed for user "guest"') as found:
                SqlSessionStore(url).sessions()
            assert "PGPASSWORD" in found.value.hint
            check_secret(found.value)
            right = url.replace(SECRET, "right")
            with pytest.raises(UnavailableError, match="may not do this: permission denied") as refused:
                SqlSessionStore(right).sessions()
            assert "grant create on database" in refused.value.hint
        finally:
            rules.write_text(before)
            connection.execute("select pg_reload_conf()")
            connection.execute("drop role guest")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ada:{secret}@{secret}@host/x", "postgresql://ada:a/{secret}@host/x", "postgresql://ada:a?{secret}@host/x",
        "postgresql://ada:a#{secret}@host/x", "postgresql://host:{secret}/x", "postgresql://a/b/{secret}",
        "mysql://ada:{secret}@host/x",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_without_a_part_of_it(address: str) -> None:
    with pytest.raises(UsageError) as found:
        SqlSessionStore(address.format(secret=SECRET))
    assert "postgresql://USER@HOST/DATABASE" in found.value.hint
    check_secret(found.value)


def check_secret(error: MetierError) -> None:
    assert SECRET not in "".join(traceback.format_exception(error)) + error.hint
