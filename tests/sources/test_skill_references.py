"""What the texts of skills name: read once, until a SKILL.md changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from builders import write_skill
from metier.catalog import References
from metier.sources import DiskFiles, MetadataCache, discover, read_all_references

LETTERS = "Use the fill-forms skill. Read ../charts/SKILL.md.\n"


@pytest.fixture
def cache(tmp_path: Path) -> MetadataCache:
    return MetadataCache(str(tmp_path / "cache.sqlite"))


def read(root: Path, cache: MetadataCache | None) -> dict[str, References]:
    entries = discover(root, cache=cache.file if cache else None).entries
    return {Path(folder).name: found for folder, found in read_all_references(entries, cache).items()}


def test_an_unchanged_text_is_not_read_again(tmp_path: Path, cache: MetadataCache, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "skills"
    write_skill(root, "letters", body=LETTERS)
    write_skill(root, "plain")
    expected = {"letters": References(skills=("charts", "fill-forms")), "plain": References()}
    assert read(root, cache) == read(root, None) == expected
    paths: list[str] = []
    plain = DiskFiles.read

    def record(self: DiskFiles, path: str, *, limit: int) -> bytes:
        paths.append(Path(self.folder).name)
        return plain(self, path, limit=limit)

    monkeypatch.setattr(DiskFiles, "read", record)
    assert read(root, cache) == expected
    assert paths == []
    write_skill(root, "letters", body="Use the mail-merge skill, and no other.\n")
    assert read(root, cache) == {"letters": References(skills=("mail-merge",)), "plain": References()}
    assert paths == ["letters"]


def test_a_removed_skill_leaves_the_cache(tmp_path: Path, cache: MetadataCache) -> None:
    root = tmp_path / "skills"
    folder = write_skill(root, "letters", body=LETTERS)
    read(root, cache)
    shutil.rmtree(folder)
    write_skill(root, "plain")
    read(root, cache)
    assert [Path(folder).name for folder in cache.load_references()] == ["plain"]


def test_a_damaged_cache_changes_nothing(tmp_path: Path, cache: MetadataCache) -> None:
    root = tmp_path / "skills"
    write_skill(root, "letters", body=LETTERS)
    expected = read(root, cache)
    Path(cache.file).write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    assert read(root, cache) == expected
