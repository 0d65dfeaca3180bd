"""Every SQLite file of metier is opened in one way, by SQLite only."""

from __future__ import annotations

import re
import threading
from pathlib import Path

from builders import python
from metier.sources import open_sqlite

_WATCHED = """
import os, re, sys

events = []

def watch(event, arguments):
    if event in ("open", "os.open", "os.remove", "os.rename", "os.truncate", "shutil.copyfile", "shutil.move"):
        names = [os.fsdecode(one) for one in arguments[:2] if isinstance(one, (str, bytes, os.PathLike))]
        events.extend(f"{event} {name}" for name in names if re.search(r"[.]sqlite(-wal|-shm|-journal)?$", name)
                      and ".partial." not in name)

sys.addaudithook(watch)
"""
_USES = """
import asyncio, io
from pathlib import Path

folder = Path(sys.argv[1])
os.environ["METIER_HOME"] = os.environ["HOME"] = str(folder / "home")
skill = folder / "home/skills/pdf/SKILL.md"
skill.parent.mkdir(parents=True)
skill.write_text("---\\nname: pdf\\ndescription: Reads PDF files. Use when a PDF is named.\\n---\\nRead it.\\n")
os.utime(skill, (1, 1))
os.chdir(folder)

from metier.agents import SqlConversationStore
from metier.registry import RegistryLocation, backup, collect_garbage, create_token, migrate, restore, statistics
from metier.runtime import SqlSessionStore, Usage
from metier.cli.main import main

for commands in (["skill list", "skill list", "doctor"], ["skill list", "cache info"]):
    store, chats = SqlSessionStore(folder / "home/sessions.sqlite"), SqlConversationStore(folder / "home/conversations.sqlite")
    store.add_usage("s", "pdf", "2026-01-01", Usage(runs=1))
    chats.recent()
    for words in commands:
        sys.argv = ["metier", *words.split()]
        try:
            main()
        except SystemExit:
            pass

async def use_registry():
    here, copy = RegistryLocation.in_folder(f"{folder}/registry"), RegistryLocation.in_folder(f"{folder}/copy")
    async with here.open() as (rows, blobs):
        await create_token(here, "ann", ("read",))
        await statistics(here)
        await backup(here, f"{folder}/backup")
        await backup(here, f"{folder}/backup")
        await migrate(here, copy)
        await restore(f"{folder}/backup", here)
        await collect_garbage(here)
        await rows.ping()

asyncio.run(use_registry())
store.close()
print("events:", events, file=sys.__stdout__)
"""


def test_no_code_of_metier_opens_a_database_file_beside_sqlite(tmp_path: Path) -> None:
    """Closing such a descriptor ends all POSIX locks of the process on the file.

    The one exception is the first backup into a folder: its closed database, used by no other process, gets its name at the
    end.
    """
    out, err = python(_WATCHED + _USES, tmp_path).communicate(timeout=120)
    assert out.splitlines()[-1:] == [f"events: ['os.rename {tmp_path}/backup/registry.sqlite']"], out + err
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.sqlite")}
    assert found >= {
        "home/sessions.sqlite", "home/conversations.sqlite", "home/cache/listings.sqlite", "home/cache/catalog.sqlite",
        "registry/registry.sqlite", "backup/registry.sqlite",
    }  # fmt: skip


def test_only_one_module_connects_to_sqlite() -> None:
    source = Path(__file__).parents[2] / "src/metier"
    users = {path.name for path in source.rglob("*.py") if re.search(r"sqlite3\.connect\(|sqlite3 import", path.read_text())}
    # The transcripts of opencode are in its own database, which is opened to read only.
    assert users == {"sqlite_file.py", "opencode.py"}


def test_a_database_and_the_files_beside_it_are_private_whatever_the_umask(tmp_path: Path) -> None:
    code = """
    import os, sys
    os.umask(0)
    from metier.sources import open_sqlite
    db = open_sqlite(sys.argv[1] + "/home/deep/d.sqlite", timeout=1)
    db.execute("pragma journal_mode = wal")
    db.execute("create table t (a)")
    os.chdir(sys.argv[1] + "/home/deep")
    print({name: oct(os.stat(name).st_mode & 0o777) for name in sorted(os.listdir("."))})
    print(oct(os.stat(".").st_mode & 0o777), oct(os.stat("..").st_mode & 0o777))
    """
    out, err = python(code, tmp_path).communicate(timeout=60)
    assert out == "{'d.sqlite': '0o600', 'd.sqlite-shm': '0o600', 'd.sqlite-wal': '0o600'}\n0o700 0o700\n", err


def test_a_database_that_others_could_read_becomes_private(tmp_path: Path) -> None:
    file = tmp_path / "d.sqlite"
    first = open_sqlite(str(file), timeout=1)
    first.execute("pragma journal_mode = wal")
    first.execute("create table t (a)")
    for name in ("d.sqlite", "d.sqlite-wal", "d.sqlite-shm"):
        (tmp_path / name).chmod(0o644)
    second = open_sqlite(str(file), timeout=1)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    second.close()
    first.close()
    assert modes == {"d.sqlite": 0o600, "d.sqlite-wal": 0o600, "d.sqlite-shm": 0o600}


def test_threads_that_create_one_database_at_once_share_it(tmp_path: Path) -> None:
    file = str(tmp_path / "d.sqlite")
    barrier = threading.Barrier(8)

    def use() -> None:
        barrier.wait()
        db = open_sqlite(file, timeout=30)
        db.execute("create table if not exists t (a)")
        db.execute("insert into t values (1)")
        db.close()

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    db = open_sqlite(file, timeout=1)
    assert db.execute("select count(*) from t").fetchone() == (8,)
    db.close()
    assert [path.name for path in tmp_path.iterdir()] == ["d.sqlite"]
