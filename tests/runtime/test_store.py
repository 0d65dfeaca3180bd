"""Stores of sessions."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from builders import python
from metier.errors import UnavailableError
from metier.runtime import MemorySessionStore, SessionStore, SqlSessionStore, StoreSchema, Usage
from metier.runtime.sqlite_database import SqliteDatabase
from metier.testing import SessionStoreConformance
from metier.testing.stores import active_skill


class TestMemorySessionStore(SessionStoreConformance):
    def new_store(self, folder: Path) -> SessionStore:
        return MemorySessionStore()


class TestSqlSessionStore(SessionStoreConformance):
    def new_store(self, folder: Path) -> SessionStore:
        return SqlSessionStore(folder / "deep" / "sessions.sqlite")


def written(file: Path, name: str = "pdf") -> SqlSessionStore:
    store = SqlSessionStore(file)
    with store.edit("s") as rows:
        rows.active = (active_skill(name),)
    store.close()
    return store


def test_a_new_process_reads_what_the_last_one_wrote(tmp_path: Path) -> None:
    written(tmp_path / "s.sqlite")
    assert [each.name for each in SqlSessionStore(tmp_path / "s.sqlite").active("s")] == ["pdf"]


@pytest.mark.parametrize("damage", [b"this is no database at all, whatever it is", b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_damaged_file_is_renamed_and_a_new_one_created(tmp_path: Path, damage: bytes) -> None:
    file = tmp_path / "s.sqlite"
    file.write_bytes(damage)
    store = written(file)
    assert store.damaged_copy is not None
    assert Path(store.damaged_copy).read_bytes() == damage
    assert [each.name for each in SqlSessionStore(file).active("s")] == ["pdf"]


def test_a_page_torn_in_the_middle_is_noticed_at_the_next_start(tmp_path: Path) -> None:
    file = tmp_path / "s.sqlite"
    store = SqlSessionStore(file)
    for number in range(200):
        store.add_usage("s", f"skill-{number}", "2026-01-01", Usage(runs=1))
    store.close()
    data = bytearray(file.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 3000] = os.urandom(3000)
    file.write_bytes(bytes(data))
    again = SqlSessionStore(file)
    assert again.usage() == ()
    assert again.damaged_copy is not None


def test_a_file_of_a_newer_metier_is_not_changed(tmp_path: Path) -> None:
    file = tmp_path / "s.sqlite"
    written(file)
    db = sqlite3.connect(file)
    db.execute("pragma user_version = 99")
    db.commit()
    db.close()
    with pytest.raises(UnavailableError, match="newer metier"):
        SqlSessionStore(file).active("s")
    assert not list(tmp_path.glob("*.damaged-*"))


def test_a_commit_that_fails_leaves_no_transaction_open(tmp_path: Path) -> None:
    tables = "create table parent (id integer primary key); "
    tables += "create table child (parent integer references parent deferrable initially deferred)"
    database = SqliteDatabase(tmp_path / "s.sqlite", StoreSchema("test", (tables,)))
    with database.read() as db:
        db.execute("pragma foreign_keys = on")
    for _ in range(2):
        with pytest.raises(UnavailableError, match="FOREIGN KEY"), database.write("a") as db:
            db.execute("insert into child values (1)")
    with database.write("a") as db:
        db.execute("insert into parent values (1)")
    database.close()


def test_an_error_after_sqlite_has_rolled_back_is_the_one_that_is_raised(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "s.sqlite", StoreSchema("test", ("create table t (a integer)",)))
    with pytest.raises(ValueError, match="the reason"), database.write("a") as db:
        db.execute("rollback")
        raise ValueError("the reason")
    database.close()


def test_a_file_that_another_process_holds_is_unavailable_and_not_damaged(tmp_path: Path) -> None:
    file = tmp_path / "s.sqlite"
    written(file)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("begin immediate")
    try:
        with pytest.raises(UnavailableError, match="in use by another process") as busy:
            SqlSessionStore(file, timeout=0.05).add_usage("s", "pdf", "2026-01-01", Usage(runs=1))
        assert busy.value.retryable
        assert [each.name for each in SqlSessionStore(file).active("s")] == ["pdf"]
    finally:
        other.close()


def test_a_folder_that_cannot_be_written_is_unavailable_with_a_hint(open_path: Path) -> None:
    open_path.chmod(0o555)
    code = """
    import os, sys
    from metier.errors import UnavailableError
    from metier.runtime import SqlSessionStore
    if os.getuid() == 0:
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
    try:
        SqlSessionStore(sys.argv[1] + "/sessions.sqlite").active("s")
    except UnavailableError as error:
        print(error, error.hint)
    """
    out, err = python(code, open_path).communicate(timeout=60)
    assert "cannot use " in out, err
    assert "check its permissions" in out


def test_only_the_owner_can_read_the_file_and_its_journals(tmp_path: Path) -> None:
    store = SqlSessionStore(tmp_path / "s.sqlite")
    with store.edit("s") as rows:
        rows.active = (active_skill("pdf"),)
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"s.sqlite": 0o600, "s.sqlite-wal": 0o600, "s.sqlite-shm": 0o600, "s.sqlite.lock": 0o600}


def test_a_fork_opens_its_own_connection(tmp_path: Path) -> None:
    code = """
    import os, sys
    from metier.runtime import SqlSessionStore
    from metier.testing.stores import active_skill
    store = SqlSessionStore(sys.argv[1])
    with store.edit("s") as rows:
        rows.active = (active_skill("pdf"),)
    child = os.fork()
    with store.edit("s") as rows:
        rows.active = (*rows.active, active_skill("parent" if child else "child"))
    if child:
        os.waitpid(child, 0)
        print(sorted(each.name for each in store.active("s")))
    """
    out, err = python(code, tmp_path / "s.sqlite").communicate(timeout=60)
    assert out == "['child', 'parent', 'pdf']\n", err


def test_a_file_removed_by_another_program_is_created_again(tmp_path: Path) -> None:
    file = tmp_path / "s.sqlite"
    store = SqlSessionStore(file)
    for name in ("pdf", "csv"):
        with store.edit("s") as rows:
            rows.active = (active_skill(name),)
        if name == "pdf":
            for left in tmp_path.glob("s.sqlite*"):
                left.unlink()
    assert [each.name for each in SqlSessionStore(file).active("s")] == ["csv"]


def test_an_invalid_row_is_not_active(tmp_path: Path) -> None:
    file = tmp_path / "s.sqlite"
    written(file)
    db = sqlite3.connect(file)
    db.executemany("insert into active values ('s', ?, ?)", [(7, "nonsense"), (8, "{}"), (9, "[]")])
    db.commit()
    db.close()
    assert [each.name for each in SqlSessionStore(file).active("s")] == ["pdf"]


def test_a_damaged_file_that_another_process_uses_is_not_renamed(tmp_path: Path) -> None:
    file = tmp_path / "s.sqlite"
    code = """
    import sys
    from metier.runtime import SqlSessionStore
    store = SqlSessionStore(sys.argv[1])
    store.active("s")
    print("open", flush=True)
    sys.stdin.readline()
    """
    other = python(code, file, stdin=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdout.readline() == "open\n"
    damage = b"no database" * 400
    (tmp_path / "s.sqlite-wal").unlink()
    file.write_bytes(damage)
    store = SqlSessionStore(file)
    with pytest.raises(UnavailableError, match="in use by another process"):
        store.active("s")
    assert (file.read_bytes(), list(tmp_path.glob("*.damaged-*"))) == (damage, [])
    other.communicate("\n", timeout=60)
    assert store.active("s") == ()


def test_a_file_replaced_by_another_program_is_opened_again(tmp_path: Path) -> None:
    """What is written to the replaced file would be lost."""
    file = tmp_path / "s.sqlite"
    store = written(file)
    written(tmp_path / "other.sqlite").close()
    for left in tmp_path.glob("s.sqlite-*"):
        left.unlink()
    os.replace(tmp_path / "other.sqlite", file)
    store.add_usage("s", "pdf", "2026-01-01", Usage(runs=1))
    assert [each.skill for each in SqlSessionStore(file).usage()] == ["pdf"]


def test_a_parent_that_closes_leaves_the_journal_of_its_fork_in_place(tmp_path: Path) -> None:
    """A connection that crosses a fork takes over locks that only the parent holds."""
    code = """
    import os, sys
    from metier.runtime import SqlSessionStore
    from metier.testing.stores import active_skill
    store = SqlSessionStore(sys.argv[1])
    store.active("s")
    written, closed = os.pipe(), os.pipe()
    if os.fork():
        store.active("s")
        os.read(written[0], 1)
        store.close()
        os.write(closed[1], b"x")
        os.wait()
    else:
        with store.edit("s") as rows:
            rows.active = (active_skill("child"),)
        os.write(written[1], b"x")
        os.read(closed[0], 1)
        links = [os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd") if number.isdigit()
                 and os.path.islink(f"/proc/self/fd/{number}")]
        print(sorted(os.path.basename(link) for link in links if "deleted" in link))
        os._exit(sys.stdout.flush() or 0)
    """
    out, err = python(code, tmp_path / "s.sqlite").communicate(timeout=60)
    assert out == "[]\n", err
