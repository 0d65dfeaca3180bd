from __future__ import annotations

import os
from pathlib import Path

import pytest

from install.builders import scope_in
from metier.install.transaction import journal
from metier.install.transaction.journal import Move, leftovers, stage_below


def folder(root: Path, name: str, text: str) -> Path:
    (root / name).mkdir()
    (root / name / "SKILL.md").write_text(text)
    return root / name


def moved(staged: Path, final: Path) -> Move:
    return Move(str(staged), str(final), os.lstat(staged).st_ino)


def test_an_exchange_is_made_once_however_often_it_is_asked_for(tmp_path: Path) -> None:
    new, old = folder(tmp_path, "new", "new"), folder(tmp_path, "old", "old")
    move = moved(new, old)
    for _ in range(3):
        move.make()
        assert ((old / "SKILL.md").read_text(), (new / "SKILL.md").read_text()) == ("new", "old")
    move.undo()
    move.undo()
    assert ((old / "SKILL.md").read_text(), (new / "SKILL.md").read_text()) == ("old", "new")


def test_a_new_path_is_moved_and_moved_back(tmp_path: Path) -> None:
    new = folder(tmp_path, "new", "new")
    move = moved(new, tmp_path / "final")
    move.make()
    assert not new.exists()
    move.undo()
    assert new.exists()
    assert not (tmp_path / "final").exists()


def test_a_removal_can_be_rolled_back(tmp_path: Path) -> None:
    old = folder(tmp_path, "old", "old")
    move = Move(str(tmp_path / "aside"), str(old))
    move.make()
    move.make()
    assert not old.exists()
    move.undo()
    assert (old / "SKILL.md").read_text() == "old"


def test_a_system_that_cannot_exchange_does_it_in_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_exchange_atomically", lambda *_: False)
    new, old = folder(tmp_path, "new", "new"), folder(tmp_path, "old", "old")
    moved(new, old).make()
    assert ((old / "SKILL.md").read_text(), (new / "SKILL.md").read_text()) == ("new", "old")


def test_a_crash_between_those_steps_is_finished_by_the_next_one(tmp_path: Path) -> None:
    new, old = folder(tmp_path, "new", "new"), folder(tmp_path, "old", "old")
    move = moved(new, old)
    os.rename(old, f"{new}.old")
    move.make()
    assert (old / "SKILL.md").read_text() == "new"


def test_a_staging_folder_is_in_use_as_long_as_its_process_lives(tmp_path: Path) -> None:
    scope = scope_in(tmp_path)
    with stage_below(scope.shared, scope) as (stage, _):
        assert leftovers(scope) == []
    assert leftovers(scope) == [stage]
