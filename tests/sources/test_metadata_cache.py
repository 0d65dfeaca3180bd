"""Metadata cached between runs. A failure of the cache costs time and never changes a result."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from pathlib import Path

import pytest

from builders import as_another_user, offer, python, settle, skill_text, write_skill
from metier.catalog import Catalog, Offer, State
from metier.sources import MetadataCache, discover


def folders(offers: list[Offer]) -> set[str]:
    return {one.folder for one in offers}


def look(tmp_path: Path) -> Catalog:
    """One run over `skills`, with a cache beside it."""
    return discover(tmp_path / "skills", cache=tmp_path / "cache.sqlite")


def said(tmp_path: Path, name: str = "x") -> str:
    return look(tmp_path)[name].description


def change_unseen(file: Path, description: str) -> None:
    """Another content of the same length at the same time: only a reader of the file can notice."""
    before = file.stat()
    file.write_text(skill_text("x", description=description))
    assert file.stat().st_size == before.st_size
    settle(file, before)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_skill(tmp_path / "skills", "x", description="one") / "SKILL.md"


def test_an_unchanged_file_is_never_read_again(tmp_path: Path, file: Path) -> None:
    look(tmp_path)
    change_unseen(file, "two")
    assert said(tmp_path) == "one"


def test_without_a_cache_every_run_reads(tmp_path: Path, file: Path) -> None:
    discover(tmp_path / "skills")
    change_unseen(file, "two")
    assert discover(tmp_path / "skills")["x"].description == "two"


@pytest.mark.usefixtures("file")
def test_a_second_run_gives_the_same_catalog(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "warned", head="allowed-tools: Read, Grep\ncompatibility: Requires nopenope and git")
    write_skill(tmp_path / "skills", "bad", data=b"nothing")
    write_skill(tmp_path / "skills", "off", head="default_enabled: false\ndisable-model-invocation: true")
    (tmp_path / "skills/odd/SKILL.md").mkdir(parents=True)
    first = look(tmp_path)
    assert look(tmp_path) == first == discover(tmp_path / "skills")
    assert [entry.report for entry in look(tmp_path).entries] == [entry.report for entry in first.entries]


def test_an_edit_is_seen(tmp_path: Path, file: Path) -> None:
    look(tmp_path)
    file.write_text(skill_text("x", description="two"))
    assert said(tmp_path) == "two"


def test_another_size_is_seen_even_at_the_same_time(tmp_path: Path, file: Path) -> None:
    look(tmp_path)
    before = file.stat()
    file.write_text(skill_text("x", description="longer"))
    settle(file, before)
    assert said(tmp_path) == "longer"


def test_an_earlier_time_is_seen_too(tmp_path: Path, file: Path) -> None:
    look(tmp_path)
    file.write_text(skill_text("x", description="two"))
    os.utime(file, ns=(10**18, 10**18))
    assert said(tmp_path) == "two"


def test_a_removed_skill_is_forgotten(tmp_path: Path, file: Path) -> None:
    write_skill(tmp_path / "skills", "y")
    look(tmp_path)
    file.unlink()
    file.parent.rmdir()
    assert look(tmp_path).names == ("y",)
    assert folders(MetadataCache(str(tmp_path / "cache.sqlite")).load(str(tmp_path))) == {str(tmp_path / "skills/y")}


@pytest.mark.usefixtures("file")
def test_a_folder_whose_name_starts_alike_is_not_removed(tmp_path: Path) -> None:
    for sibling in ("skills-old", "skills.bak", "skills0", "skills old"):
        write_skill(tmp_path / sibling, "x", description="one")
        discover(tmp_path / sibling, cache=tmp_path / "cache.sqlite")
    look(tmp_path)
    remembered = MetadataCache(str(tmp_path / "cache.sqlite")).load(str(tmp_path))
    assert {os.path.relpath(folder, tmp_path) for folder in folders(remembered)} == {
        "skills/x", "skills-old/x", "skills.bak/x", "skills0/x", "skills old/x",
    }  # fmt: skip


def test_only_what_is_below_a_folder_is_given(tmp_path: Path) -> None:
    cache = MetadataCache(str(tmp_path / "cache.sqlite"))
    kept = ["/a/s/x", "/a/s/y/z", "/a/s-2/x", "/a/s", "/a/s0"]
    cache.save([offer("x", folder=folder) for folder in kept], removed=())
    assert folders(cache.load("/a/s")) == {"/a/s/x", "/a/s/y/z"}
    assert folders(cache.load("/")) == set(kept)


def test_a_cached_row_is_read_back_unchanged(tmp_path: Path) -> None:
    cache = MetadataCache(str(tmp_path / "cache.sqlite"))
    kept = offer("x", folder="/a/x", flags=3, needs='[["git"],[],null,[]]', description="é 漢 'quoted'")
    cache.save([kept], removed=())
    assert cache.load("/a") == [kept]


def test_a_very_young_file_is_not_remembered_yet(tmp_path: Path, file: Path) -> None:
    look(tmp_path)
    cache = MetadataCache(str(tmp_path / "cache.sqlite"))
    cache.save([offer("young", folder="/a/young")._replace(mtime_ns=time.time_ns() + 10**9)], removed=())
    assert cache.load("/a") == []
    assert str(file.parent) in folders(cache.load(str(tmp_path)))


def test_a_file_from_the_future_is_read_at_every_run(tmp_path: Path, file: Path) -> None:
    future = time.time_ns() + 10**12
    os.utime(file, ns=(future, future))
    look(tmp_path)
    change_unseen(file, "two")
    assert said(tmp_path) == "two"


# --- what can be wrong with the file ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data", [b"", b"not a database at all, and longer than its header would be " * 20, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_corrupt_file_is_rebuilt_without_a_word(tmp_path: Path, file: Path, data: bytes) -> None:
    (tmp_path / "cache.sqlite").write_bytes(data)
    assert said(tmp_path) == "one"
    look(tmp_path)
    change_unseen(file, "two")
    assert said(tmp_path) == "one"


@pytest.mark.parametrize("at", [20, 100, 5000, 17000, 30000])
def test_a_file_with_a_damaged_page_never_costs_an_answer(tmp_path: Path, at: int) -> None:
    for number in range(100):
        write_skill(tmp_path / "skills", f"s{number}", description="text " * 60)
    names = look(tmp_path).names
    data = bytearray((tmp_path / "cache.sqlite").read_bytes())
    data[at : at + 400] = b"\xa5" * 400
    (tmp_path / "cache.sqlite").write_bytes(data)
    assert look(tmp_path).names == names
    assert look(tmp_path).names == names


def test_a_truncated_file_is_rebuilt(tmp_path: Path) -> None:
    for number in range(100):
        write_skill(tmp_path / "skills", f"s{number}", description="text " * 60)
    look(tmp_path)
    data = (tmp_path / "cache.sqlite").read_bytes()
    (tmp_path / "cache.sqlite").write_bytes(data[: len(data) // 2])
    assert len(look(tmp_path)) == 100
    assert len(look(tmp_path)) == 100


def test_a_file_of_another_version_is_rebuilt(tmp_path: Path, file: Path) -> None:
    db = sqlite3.connect(tmp_path / "cache.sqlite")
    db.executescript("create table skill (other text); pragma user_version = 99;")
    db.close()
    assert said(tmp_path) == "one"
    change_unseen(file, "two")
    assert said(tmp_path) == "one"


@pytest.mark.usefixtures("file")
def test_a_folder_in_place_of_the_file_is_tolerated(tmp_path: Path) -> None:
    (tmp_path / "cache.sqlite").mkdir()
    assert said(tmp_path) == "one"


@pytest.mark.usefixtures("file")
def test_a_file_in_place_of_the_folder_is_tolerated(tmp_path: Path) -> None:
    (tmp_path / "flat").write_text("")
    assert discover(tmp_path / "skills", cache=tmp_path / "flat/cache.sqlite").names == ("x",)


@pytest.mark.usefixtures("file")
def test_a_missing_folder_is_created_readable_only_by_its_owner(tmp_path: Path) -> None:
    discover(tmp_path / "skills", cache=tmp_path / "home/cache/c.sqlite")
    assert (tmp_path / "home/cache").stat().st_mode & 0o777 == 0o700


def test_a_cache_named_without_a_folder_is_beside_the_caller(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    discover("skills", cache="c.sqlite")
    change_unseen(file, "two")
    assert discover("skills", cache="c.sqlite")["x"].description == "one"


def test_a_read_only_folder_costs_time_and_no_answer(open_path: Path) -> None:
    write_skill(open_path / "skills", "x")
    (open_path / "cache").mkdir(mode=0o555)
    code = "print(json.dumps([discover(folder + '/skills', cache=folder + '/cache/c').names for _ in range(2)]))"
    assert as_another_user(open_path, code) == [["x"], ["x"]]
    assert list((open_path / "cache").iterdir()) == []


def test_a_read_only_file_is_read_and_an_edit_still_seen(open_path: Path) -> None:
    file = write_skill(open_path / "skills", "x", description="one") / "SKILL.md"
    discover(open_path / "skills", cache=open_path / "cache.sqlite")
    (open_path / "cache.sqlite").chmod(0o444)
    open_path.chmod(0o555)
    file.write_text(skill_text("x", description="two"))
    code = "print(json.dumps(discover(folder + '/skills', cache=folder + '/cache.sqlite')['x'].description))"
    assert as_another_user(open_path, code) == "two"
    open_path.chmod(0o755)


@pytest.mark.usefixtures("file")
def test_a_cache_locked_by_another_process_costs_time_and_no_answer(tmp_path: Path) -> None:
    look(tmp_path)
    write_skill(tmp_path / "skills", "y")
    db = sqlite3.connect(tmp_path / "cache.sqlite", isolation_level=None)
    try:
        db.execute("begin exclusive")
        assert look(tmp_path).names == ("x", "y")
    finally:
        db.close()


def test_names_that_are_not_utf_8_are_left_out_and_the_others_remembered(tmp_path: Path, file: Path) -> None:
    write_skill(tmp_path / "skills", "odd", folder="caf\udce9")
    assert set(look(tmp_path).names) == {"odd", "x"}
    change_unseen(file, "two")
    assert (said(tmp_path), said(tmp_path, "odd")) == ("one", "Does it. Use when asked.")


def test_a_place_whose_name_is_not_utf_8_is_searched_with_a_cache_too(tmp_path: Path) -> None:
    write_skill(tmp_path / "caf\udce9", "x")
    write_skill(tmp_path / "skills", "y")
    look(tmp_path)
    runs = [discover(tmp_path / "caf\udce9", cache=tmp_path / "cache.sqlite").names for _ in range(2)]
    assert runs == [("x",), ("x",)]


# --- two at once ------------------------------------------------------------------------------------------------------

WRITER = """
import json, sys
from metier.sources import discover
for _ in range(5):
    catalog = discover(sys.argv[1], cache=sys.argv[2])
print(json.dumps([len(catalog), len(catalog.skipped)]))
"""


def test_processes_that_write_at_once_get_whole_results_and_leave_a_whole_cache(tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    roots = [tmp_path / f"skills{process}" for process in range(4)]
    for root in roots:
        for number in range(200):
            write_skill(root, f"s{number}")
    processes = [python(WRITER, root, cache) for root in roots]
    results = [process.communicate(timeout=60) for process in processes]
    assert [(json.loads(out), err) for out, err in results] == [([200, 0], "")] * 4
    db = sqlite3.connect(cache)
    try:
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
    finally:
        db.close()
    assert all(len(discover(root, cache=cache)) == 200 for root in roots)


def test_processes_that_meet_a_corrupt_cache_at_once_all_get_whole_results(tmp_path: Path) -> None:
    for number in range(200):
        write_skill(tmp_path / "skills", f"s{number}")
    (tmp_path / "cache.sqlite").write_bytes(b"garbage " * 1000)
    processes = [python(WRITER, tmp_path / "skills", tmp_path / "cache.sqlite") for _ in range(4)]
    results = [process.communicate(timeout=60) for process in processes]
    assert [(json.loads(out), err) for out, err in results] == [([200, 0], "")] * 4


def test_a_state_is_decided_anew_at_every_run(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "x", head="compatibility: Requires gh")
    states = [discover(tmp_path / "skills", cache=tmp_path / "c", deny=deny).entries[0].state for deny in ([], ["x"])]
    assert states[1] is State.DISABLED
