"""Durability after a power cut: everything staged is flushed before the journal names it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from install.builders import contents, installed, prepared, store_in
from metier.archive import Contents
from metier.install.transaction import stage
from metier.install.transaction.stage import flush, write_skills
from metier.sources import inner_folder

MANY = {f"references/{number}.md": b"x" for number in range(40)}


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The paths that were flushed one by one."""
    seen: set[str] = set()
    really = os.fsync

    def fsync(descriptor: int) -> None:
        seen.add(os.readlink(f"/proc/self/fd/{descriptor}"))
        really(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return seen


def write(folder: Path, skill: Contents) -> None:
    with inner_folder(str(folder)) as descriptor:
        write_skills([(descriptor, "a", skill, {})])


def staged(folder: Path) -> set[str]:
    return {str(folder), *(str(path) for path in folder.rglob("*") if not path.is_symlink())}


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="only Linux says which file a number is")
@pytest.mark.parametrize("files", [{}, MANY])
def test_where_a_file_system_cannot_be_flushed_at_once_every_file_and_folder_is(
    tmp_path: Path, flushed: set[str], monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]
) -> None:
    monkeypatch.setattr(stage, "_sync_file_system", lambda _folder: False)
    write(tmp_path, contents("a", files=files, links=[("l.md", "SKILL.md")]))
    flush([str(tmp_path)])
    assert flushed == staged(tmp_path)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="only Linux says which file a number is")
def test_many_files_are_flushed_at_once_where_errors_are_reported(
    tmp_path: Path, flushed: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, contents("a", files=MANY))
    flush([str(tmp_path)])
    assert flushed == set()
    # An old kernel keeps it to itself when a write has failed, so there every file is asked.
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "here", "5.4.0-1", "#1", "x86_64")))
    flush([str(tmp_path)])
    assert flushed == staged(tmp_path)


def test_a_disk_that_cannot_flush_ends_the_installation_with_the_old_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf"))

    def broken(_descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="Input/output error"):
        installed(store, prepared("pdf", body="Newer.\n"))
    monkeypatch.undo()
    assert "Newer." not in (tmp_path / "home/.metier/plugins/pdf/SKILL.md").read_text()
    assert not list((tmp_path / "home/.metier").rglob(".metier-*"))


def test_everything_is_flushed_before_the_journal_is_written(tmp_path: Path) -> None:
    points: list[str] = []
    installed(store_in(tmp_path, checkpoint=points.append), prepared("pdf"), prepared("docx"), targets=("claude-code",))
    order = [points.index(point) for point in ("skills written", "staged", "flushed", "journal staged", "journal written")]
    assert order == sorted(order)
