"""A store of skills by what they contain, shared by projects and processes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from builders import python
from metier.archive import Contents, Link, Member, digest
from metier.install.fetch.cache import CacheSize, SkillCache


def skill(text: str = "x") -> Contents:
    return Contents([Member("SKILL.md", text.encode()), Member("run.sh", b"echo", True)], [Link("l", "run.sh")])


@pytest.fixture
def cache(tmp_path: Path) -> SkillCache:
    return SkillCache(str(tmp_path / "cache"))


def files(cache: SkillCache) -> list[Path]:
    return sorted(file for file in Path(cache.folder).rglob("*") if file.is_file())


def test_a_cached_skill_is_read_back_unchanged(cache: SkillCache) -> None:
    key = cache.put(skill())
    assert key == digest(skill())
    assert cache.get(key) == skill()
    assert cache.has(key)


def test_the_same_skill_is_kept_once(cache: SkillCache) -> None:
    cache.put(skill())
    before = files(cache)
    cache.put(skill())
    assert files(cache) == before
    assert len(before) == 1


def test_a_missing_item_is_none(cache: SkillCache) -> None:
    assert cache.get("sha256:" + "0" * 64) is None
    assert cache.recall("nothing") is None
    assert (cache.size(), cache.clean(), cache.verify()) == (CacheSize(skills=0, bytes=0), CacheSize(skills=0, bytes=0), ())


@pytest.mark.parametrize("key", ["", "sha256:" + "0" * 63, "sha256:../../x", "md5:" + "0" * 64, "sha256:" + "G" * 64])
def test_a_key_that_is_not_a_digest_never_becomes_a_path(cache: SkillCache, key: str) -> None:
    with pytest.raises(ValueError, match="not a digest"):
        cache.get(key)


@pytest.mark.parametrize("damage", [b"", b"PK", b"garbage" * 100])
def test_i48_a_damaged_object_counts_as_absent_and_is_removed(cache: SkillCache, damage: bytes) -> None:
    key = cache.put(skill())
    files(cache)[0].write_bytes(damage)
    assert cache.get(key) is None
    assert files(cache) == []


def test_i48_an_object_under_the_name_of_another_is_never_given_out(cache: SkillCache) -> None:
    good, evil = cache.put(skill("good")), cache.put(skill("evil"))
    Path(cache._file(good)).write_bytes(Path(cache._file(evil)).read_bytes())
    assert cache.get(good) is None
    assert cache.get(evil) == skill("evil")


def test_verify_names_and_removes_what_is_damaged(cache: SkillCache) -> None:
    good, bad = cache.put(skill("1")), cache.put(skill("2"))
    Path(cache._file(bad)).write_bytes(b"x")
    assert cache.verify() == (bad,)
    assert cache.get(good) == skill("1")


def test_size_and_clean_count_skills_and_bytes(cache: SkillCache) -> None:
    cache.put(skill("1"))
    cache.put(skill("2"))
    cache.remember("k", {"a": 1})
    size = cache.size()
    assert size.skills == 2
    assert size.bytes > 0
    assert cache.clean() == size
    assert files(cache) == []


def test_clean_keeps_what_was_used_lately(cache: SkillCache) -> None:
    old, used = cache.put(skill("old")), cache.put(skill("used"))
    then = time.time() - 1000
    for file in files(cache):
        os.utime(file, (then, then))
    cache.get(used)
    assert cache.clean(unused_for=500).skills == 1
    assert (cache.get(old), cache.get(used)) == (None, skill("used"))


def test_clean_removes_what_a_killed_process_left(cache: SkillCache) -> None:
    key = cache.put(skill())
    left = Path(cache._file(key)).parent / ".abc.zip.tmp"
    left.write_bytes(b"half")
    cache.clean(unused_for=10**6)
    assert left.exists()
    os.utime(left, (1, 1))
    cache.clean(unused_for=10**6)
    assert not left.exists()
    assert cache.get(key) == skill()


def test_notes_are_merged_and_belong_to_their_key(cache: SkillCache) -> None:
    cache.remember("k", {"a": 1})
    cache.remember("k", {"b": 2})
    assert cache.recall("k") == {"a": 1, "b": 2}
    Path(cache._note("other")).write_bytes(Path(cache._note("k")).read_bytes())
    assert cache.recall("other") is None
    Path(cache._note("k")).write_bytes(b"[")
    assert cache.recall("k") is None


def test_a_cache_that_cannot_be_written_costs_time_and_no_answer(open_path: Path) -> None:
    open_path.chmod(0o555)
    code = """
        import os, sys
        from metier.install.fetch.cache import SkillCache
        from metier.archive import Contents, Member, pack, unpack  # all, while the library may be read
        if os.getuid() == 0:
            os.setgroups([]); os.setgid(65534); os.setuid(65534)
        cache = SkillCache(sys.argv[1] + "/cache")
        key = cache.put(Contents([Member("SKILL.md", b"x")]))
        cache.remember("k", {"a": 1})
        print(key[:7], cache.get(key), cache.recall("k"))
    """
    said, wrong = python(code, open_path).communicate(timeout=60)
    assert (said.split(), wrong) == (["sha256:", "None", "None"], "")


def test_many_processes_write_the_same_cache_at_once(cache: SkillCache) -> None:
    code = """
        import sys
        from metier.install.fetch.cache import SkillCache
        from metier.archive import Contents, Member
        cache, me = SkillCache(sys.argv[1]), int(sys.argv[2])
        for number in range(20):
            contents = Contents([Member("SKILL.md", str(number).encode() * 1000)])
            assert cache.get(cache.put(contents)) == contents
            cache.remember("shared", {f"{me} {number}": 1})
    """
    workers = [python(code, cache.folder, number) for number in range(4)]
    for worker in workers:
        _, err = worker.communicate(timeout=60)
        assert worker.returncode == 0, err
    assert cache.size().skills == 20
    assert cache.verify() == ()
    assert len(cache.recall("shared") or {}) == 80
    assert not [file for file in files(cache) if file.name.startswith(".") and not file.name.endswith(".lock")]


def test_times_of_files_survive_the_cache(tmp_path: Path) -> None:
    cache = SkillCache(str(tmp_path))
    found = cache.get(cache.put(Contents([Member("SKILL.md", b"x", time=1_700_000_000 * 10**9), Member("new", b"")])))
    assert found is not None
    assert [member.time for member in found.members] == [1_700_000_000 * 10**9, None]
