"""The moves of a journal: each is made once, can be undone, and touches nothing that it did not record."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from install.builders import installed, prepared, scope_in, store_in
from metier.install.transaction import exchange
from metier.install.transaction.journal import Move, inode_of
from metier.install.transaction.stage_folder import StageFolder, leftovers, make_stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[StageFolder]:
    scope = scope_in(tmp_path)
    made = make_stage(scope.shared, scope)
    yield made
    made.close()


def put(stage: StageFolder, name: str, text: str, *, staged: bool = False) -> Path:
    folder = Path(stage.path, ".cache", name) if staged else Path(stage.parent, name)
    folder.mkdir()
    (folder / "SKILL.md").write_text(text)
    return folder


def move_of(stage: StageFolder, final: str = "pdf") -> Move:
    return Move(stage=stage, staged="0", final=final, inode=inode_of("0", stage.inner), old=inode_of(final, stage.outer))


def texts(*folders: Path) -> tuple[str, ...]:
    return tuple((folder / "SKILL.md").read_text() for folder in folders)


def test_an_exchange_is_made_once_however_often_it_is_asked_for(stage: StageFolder) -> None:
    new, old = put(stage, "0", "new", staged=True), put(stage, "pdf", "old")
    move = move_of(stage)
    for _ in range(3):
        move.make()
        assert texts(old, new) == ("new", "old")
    move.undo()
    move.undo()
    assert texts(old, new) == ("old", "new")


def test_a_new_path_is_moved_and_moved_back(stage: StageFolder) -> None:
    new = put(stage, "0", "new", staged=True)
    move = move_of(stage)
    move.make()
    assert not new.exists()
    move.undo()
    assert new.exists()
    assert not Path(stage.parent, "pdf").exists()


def test_a_removal_can_be_rolled_back(stage: StageFolder) -> None:
    old = put(stage, "pdf", "old")
    move = move_of(stage)
    move.make()
    move.make()
    assert not old.exists()
    move.undo()
    assert texts(old) == ("old",)


def test_what_was_put_in_the_place_meanwhile_is_left_alone(stage: StageFolder) -> None:
    put(stage, "0", "new", staged=True)
    move = move_of(stage)
    mine = put(stage, "pdf", "mine")
    with pytest.raises(OSError, match="replaced by another program"):
        move.make()
    assert texts(mine) == ("mine",)


def test_a_system_that_cannot_exchange_does_it_in_steps(stage: StageFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "exchange_atomically", lambda *_: False)
    new, old = put(stage, "0", "new", staged=True), put(stage, "pdf", "old")
    move_of(stage).make()
    assert texts(old, new) == ("new", "old")


def test_a_crash_between_those_steps_is_finished_by_the_next_one(stage: StageFolder) -> None:
    new, old = put(stage, "0", "new", staged=True), put(stage, "pdf", "old")
    move = move_of(stage)
    os.rename(old, f"{new}.old")
    move.make()
    assert texts(old) == ("new",)


def test_a_staging_folder_is_in_use_as_long_as_its_process_lives(tmp_path: Path) -> None:
    scope = scope_in(tmp_path)
    stage = make_stage(scope.shared, scope)
    assert leftovers(scope) == []
    stage.close()
    assert leftovers(scope) == [stage.path]


def test_the_users_own_journal_of_the_version_before_is_finished(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf"))
    old = tmp_path / "home/.metier/plugins/pdf"
    stage = old.parent / ".metier-stage-01234567"
    new = stage / ".cache/0"
    new.mkdir(parents=True)
    (new / "SKILL.md").write_text("new")
    row = f'["{new}", "{old}", {os.lstat(new).st_ino}]'
    (tmp_path / "home/.metier/.metier-journal").write_text(f'{{"version": 1, "stages": ["{stage}"], "moves": [{row}]}}')
    assert store.is_interrupted
    installed(store, prepared("docx"))
    assert (texts(old), store.is_interrupted, stage.exists()) == (("new",), False, False)
