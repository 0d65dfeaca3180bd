"""A project's folders may be links in any direction: an installation changes the project and metier's home, nothing else."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from install.builders import installed, prepared, snapshot, store_in
from metier.errors import MetierError, RefusedError
from metier.install import ScopeLevel
from metier.install.targets.agents_md import write_agents_md
from metier.install.transaction.doctor import find_leftovers, repair
from metier.install.transaction.exchange import exchange_atomically
from metier.install.transaction.steps import Edits, StepReason, Verb
from metier.sources import inner_folder

HOSTS = ("claude-code", "cursor")
LINKS = [".agents", ".agents/skills", ".claude", ".claude/skills"]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of the user beside the project, with skills of the same names."""
    for name in ("skills/pdf", "pdf"):
        folder = tmp_path / "outside" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text("mine")
    return tmp_path / "outside"


def link_out(tmp_path: Path, place: str) -> None:
    link = tmp_path / "project" / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(os.path.relpath(tmp_path / "outside", link.parent))


def everything(folder: Path) -> dict[str, str]:
    return snapshot(folder, leave_out=(" ",))


@pytest.mark.parametrize("place", LINKS)
def test_an_installation_does_not_follow_a_link_out_of_the_project(tmp_path: Path, outside: Path, place: str) -> None:
    link_out(tmp_path, place)
    before = everything(outside)
    with pytest.raises(RefusedError, match="out of the project"):
        installed(store_in(tmp_path, ScopeLevel.PROJECT), prepared("pdf"), targets=HOSTS, force=True)
    assert everything(outside) == before
    assert not (tmp_path / "project/metier.lock").exists()


@pytest.mark.parametrize("place", LINKS)
def test_a_removal_does_not_follow_a_link_out_of_the_project(tmp_path: Path, outside: Path, place: str) -> None:
    store = store_in(tmp_path, ScopeLevel.PROJECT)
    installed(store, prepared("pdf"), targets=HOSTS)
    path = tmp_path / "project" / place
    path.rename(tmp_path / "moved")
    link_out(tmp_path, place)
    before = everything(outside)
    acts: list[Callable[[], object]] = [
        lambda: store.remove(["pdf"]),
        lambda: store.sync(),
        lambda: store.remove_targets("pdf", ["claude-code"]),
    ]
    for act in acts:
        with pytest.raises(RefusedError, match="out of the project"):
            act()
    assert everything(outside) == before


@pytest.mark.parametrize("absolute", [False, True])
def test_a_link_inside_the_project_is_followed(tmp_path: Path, absolute: bool) -> None:
    project = tmp_path / "project"
    (project / "shared").mkdir(parents=True)
    (project / ".agents").symlink_to(project / "shared" if absolute else "shared")
    (project / ".claude").mkdir()
    (project / ".claude/skills").symlink_to("../.agents/skills")
    store = store_in(tmp_path, ScopeLevel.PROJECT)
    installed(store, prepared("pdf"), targets=HOSTS)
    assert (project / "shared/skills/pdf/SKILL.md").is_file()
    store.remove(["pdf"])
    assert os.listdir(project / "shared/skills") == []


def test_the_users_own_folders_may_be_links(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "home/.claude").mkdir(parents=True)
    (tmp_path / "home/.claude/skills").symlink_to(tmp_path / "dotfiles")
    store = store_in(tmp_path)
    installed(store, prepared("pdf"), targets=("claude-code",))
    assert (tmp_path / "dotfiles/pdf/SKILL.md").is_file()
    store.remove(["pdf"])
    assert os.listdir(tmp_path / "dotfiles") == []


def test_a_folder_that_holds_none_of_the_locked_files_is_not_removed(tmp_path: Path) -> None:
    store = store_in(tmp_path, ScopeLevel.PROJECT)
    installed(store, prepared("documents"))
    folder = tmp_path / "project/.agents/skills/documents"
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (folder / "thesis.txt").write_text("mine")
    result = store.remove(["documents"])
    assert (folder / "thesis.txt").read_text() == "mine"
    assert [(step.verb, step.reason) for step in result.steps] == [(Verb.KEEP, StepReason.FOREIGN)]


@pytest.mark.parametrize("point", ["scope held", "skills written", "flushed", "journal written", "move 1 of 3"])
@pytest.mark.parametrize("place", LINKS)
def test_a_folder_that_is_swapped_for_a_link_meanwhile_is_not_followed(
    tmp_path: Path, outside: Path, place: str, point: str
) -> None:
    """Another process swaps the folder between the check and the use."""
    installed(store_in(tmp_path, ScopeLevel.PROJECT), prepared("pdf"), targets=HOSTS)
    before = everything(outside)

    def swap(now: str) -> None:
        path = tmp_path / "project" / place
        if now == point and not path.is_symlink():
            path.rename(tmp_path / "moved")
            link_out(tmp_path, place)

    store = store_in(tmp_path, ScopeLevel.PROJECT, checkpoint=swap)
    refuse_or_do(lambda: installed(store, prepared("pdf", body="Newer.\n"), prepared("docx"), targets=HOSTS))
    assert everything(outside) == before
    refuse_or_do(lambda: store.remove(["pdf"]))
    refuse_or_do(lambda: store.sync())
    assert everything(outside) == before


def test_a_thousand_swaps_beside_installations_change_nothing_outside(tmp_path: Path, outside: Path) -> None:
    store = store_in(tmp_path, ScopeLevel.PROJECT)
    installed(store, prepared("pdf"), targets=HOSTS)
    before = everything(outside)
    done = threading.Event()
    (tmp_path / "link").symlink_to(outside)

    def swap() -> None:
        with inner_folder(str(tmp_path)) as here, inner_folder(str(tmp_path / "project/.agents")) as there:
            while not done.is_set():
                with suppress(OSError):
                    exchange_atomically("link", here, "skills", there)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for number in range(30):
            body = f"Version {number}.\n"
            skill = prepared("pdf", body=body)
            refuse_or_do(partial(installed, store, skill, targets=HOSTS, edits=Edits.OVERWRITE))
            refuse_or_do(lambda: store.remove(["pdf"]))
    finally:
        done.set()
        thread.join()
    assert everything(outside) == before


def refuse_or_do(act: Callable[[], object]) -> None:
    try:
        act()
    except (MetierError, OSError):
        pass


def test_a_journal_that_came_with_a_project_is_not_followed(tmp_path: Path, outside: Path) -> None:
    project = tmp_path / "project"
    stage = project / ".agents/skills/.metier-stage-0badcafe"
    (stage / ".cache/0").mkdir(parents=True)
    (stage / ".cache/0/SKILL.md").write_text("theirs")
    mine = project / ".agents/skills/pdf"
    mine.mkdir()
    (mine / "SKILL.md").write_text("mine")
    moves = [
        [str(stage / ".cache/0"), str(mine), os.lstat(stage / ".cache/0").st_ino],
        [str(stage / ".cache/1"), str(outside / "pdf"), 0],
    ]
    journal = project / ".metier-journal"
    journal.write_text(json.dumps({"version": 1, "stages": [str(stage)], "moves": moves}))
    before = everything(outside)
    store = store_in(tmp_path, ScopeLevel.PROJECT)
    assert not store.is_interrupted
    result = installed(store, prepared("docx"))
    assert ((mine / "SKILL.md").read_text(), everything(outside)) == ("mine", before)
    assert any(str(journal) in left.path for left in find_leftovers(store.scope)), result
    repair(store.scope)
    assert ((mine / "SKILL.md").read_text(), everything(outside)) == ("mine", before)
    assert find_leftovers(store.scope) == ()


def killed_after_the_journal(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    def at(point: str) -> None:
        if point == "journal written":
            raise Killed

    installed(store_in(tmp_path, ScopeLevel.PROJECT), prepared("pdf"))
    with pytest.raises(Killed):
        installed(store_in(tmp_path, ScopeLevel.PROJECT, checkpoint=at), prepared("pdf", body="Newer.\n"))


def test_the_journal_of_a_project_is_in_metiers_home_and_is_finished(tmp_path: Path) -> None:
    killed_after_the_journal(tmp_path)
    store = store_in(tmp_path, ScopeLevel.PROJECT)
    assert store.is_interrupted
    assert [path.name for path in (tmp_path / "project").iterdir() if "journal" in path.name] == []
    assert (tmp_path / "home/.metier/journals").stat().st_mode & 0o777 == 0o700
    installed(store, prepared("docx"))
    assert "Newer." in (tmp_path / "project/.agents/skills/pdf/SKILL.md").read_text()
    assert (store.is_interrupted, find_leftovers(store.scope)) == (False, ())


def test_a_journal_is_not_applied_to_another_project_of_the_same_path(tmp_path: Path) -> None:
    killed_after_the_journal(tmp_path)
    (tmp_path / "project").rename(tmp_path / "old")
    mine = tmp_path / "project/.agents/skills/pdf"
    mine.mkdir(parents=True)
    (mine / "SKILL.md").write_text("mine")
    store = store_in(tmp_path, ScopeLevel.PROJECT)
    repair(store.scope)
    assert ((mine / "SKILL.md").read_text(), store.is_interrupted) == ("mine", False)


def test_recovery_leaves_alone_what_was_replaced_since_the_crash(tmp_path: Path) -> None:
    killed_after_the_journal(tmp_path)
    mine = tmp_path / "project/.agents/skills/pdf"
    mine.rename(tmp_path / "before")
    mine.mkdir()
    (mine / "SKILL.md").write_text("mine")
    repair(store_in(tmp_path, ScopeLevel.PROJECT).scope)
    assert (mine / "SKILL.md").read_text() == "mine"


def test_repair_follows_no_link_out_of_the_project(tmp_path: Path, outside: Path) -> None:
    for name in (".metier-stage-0", ".metier-new-0", ".metier-deleted-0"):
        (outside / "skills" / name).mkdir()
        os.utime(outside / "skills" / name, (0, 0))
    link_out(tmp_path, ".agents")
    before = everything(outside)
    scope = store_in(tmp_path, ScopeLevel.PROJECT).scope
    assert (find_leftovers(scope), repair(scope), everything(outside)) == ((), (), before)


def test_agents_md_that_is_a_link_out_of_the_project_is_neither_read_nor_written(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/AGENTS.md").symlink_to("../outside/pdf/SKILL.md")
    with pytest.raises(RefusedError, match="out of the project"):
        write_agents_md(str(tmp_path / "project"), [], lock_file=str(tmp_path / "lock"))
    assert (outside / "pdf/SKILL.md").read_text() == "mine"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_agents_md_that_is_no_file_gives_an_error_at_once(tmp_path: Path, make: Callable[[Path], None]) -> None:
    (tmp_path / "project").mkdir()
    make(tmp_path / "project/AGENTS.md")
    with pytest.raises((OSError, MetierError), match="not a regular file"):
        write_agents_md(str(tmp_path / "project"), [], lock_file=str(tmp_path / "lock"))


@pytest.mark.parametrize("level", ScopeLevel)
def test_a_fifo_as_lock_or_journal_gives_an_error_at_once(tmp_path: Path, level: ScopeLevel) -> None:
    store = store_in(tmp_path, level)
    for file in (store.scope.lock_file, store.scope.journal):
        os.makedirs(os.path.dirname(file), exist_ok=True)
        os.mkfifo(file)
        with pytest.raises((OSError, MetierError), match="not a regular file"):
            installed(store, prepared("pdf"))
        os.unlink(file)


def test_a_fifo_in_an_installed_skill_does_not_block_an_update(tmp_path: Path) -> None:
    store = store_in(tmp_path, ScopeLevel.PROJECT)
    installed(store, prepared("pdf", files={"empty": b""}))
    file = tmp_path / "project/.agents/skills/pdf/empty"
    file.unlink()
    os.mkfifo(file)
    installed(store, prepared("pdf", files={"empty": b""}, body="Newer.\n"), edits=Edits.KEEP)
    assert file.read_bytes() == b""
    assert (tmp_path / "project/.metier/kept/pdf.orig/SKILL.md").is_file()


@pytest.mark.parametrize("place", [".agents/skills", ".claude/skills"])
def test_a_folder_of_skills_that_is_a_link_to_the_project_itself_does_not_block(tmp_path: Path, place: str) -> None:
    link = tmp_path / "project" / place
    link.parent.mkdir(parents=True)
    link.symlink_to("..")
    store = store_in(tmp_path, ScopeLevel.PROJECT)
    refuse_or_do(lambda: installed(store, prepared("pdf"), targets=HOSTS))
    refuse_or_do(lambda: store.remove(["pdf"]))
    assert not store.is_interrupted
