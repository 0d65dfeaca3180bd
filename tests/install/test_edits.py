"""An edited skill and its new version become one; what cannot be joined can be resolved or undone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from install.builders import FakeFetcher, fetched, installed, prepared, snapshot, store_in
from metier.errors import NotFoundError
from metier.install.merge import MergeReason
from metier.install.options import InstallOptions
from metier.install.store import SkillStore
from metier.install.targets.scope import InstallMode, ScopeLevel
from metier.install.transaction.steps import Edits, Verb
from metier.install.updates import SkillUpdate, update

OLD = "One.\n\nTwo.\n\nThree.\n"
NEW = fetched("pdf", body=OLD.replace("Three", "Newer"), commit="d" * 40)
FETCHER = FakeFetcher(NEW, locked=[fetched("pdf", body=OLD)])


def edited(tmp_path: Path, word: str, *, level: ScopeLevel = ScopeLevel.USER) -> tuple[SkillStore, Path]:
    """An installed skill of which one word was replaced by `Mine`."""
    store = store_in(tmp_path, level)
    installed(store, prepared("pdf", body=OLD))
    file = Path(store.folder_of(store.lock()["pdf"]), "SKILL.md")
    file.write_text(file.read_text().replace(word, "Mine"))
    return store, file


def updated(store: SkillStore, edits: Edits = Edits.MERGE, fetcher: FakeFetcher = FETCHER) -> SkillUpdate:
    (found,), _ = update(store, fetcher, ["pdf"], InstallOptions(edits=edits))
    return found


def test_edits_elsewhere_in_the_file_are_merged(tmp_path: Path) -> None:
    store, file = edited(tmp_path, "One")
    found = updated(store)
    assert file.read_text().endswith("Mine.\n\nTwo.\n\nNewer.\n")
    assert (found.edited, found.merged, found.conflicts) == (("M SKILL.md",), ("SKILL.md",), ())
    assert store.lock()["pdf"].digest == NEW.digest
    assert not (tmp_path / "home/.metier/kept").exists()


def test_edits_of_the_same_line_are_marked_and_named(tmp_path: Path) -> None:
    store, file = edited(tmp_path, "Three")
    found = updated(store)
    assert "<<<<<<< yours\nMine.\n=======\nNewer.\n>>>>>>> theirs\n" in file.read_text()
    assert [(one.path, one.reason) for one in found.conflicts] == [("SKILL.md", MergeReason.LINES)]
    again = updated(store)
    assert again.conflicts == found.conflicts
    assert not again.is_newer


@pytest.mark.parametrize("level", ScopeLevel)
def test_an_abort_restores_every_byte(level: ScopeLevel, tmp_path: Path) -> None:
    store, file = edited(tmp_path, "Three", level=level)
    (file.parent / "__pycache__").mkdir()
    (file.parent / "__pycache__/run.pyc").write_bytes(b"\0")
    (file.parent / "notes").write_text("mine\n")
    before = snapshot(tmp_path)
    updated(store)
    assert snapshot(tmp_path) != before
    store.abort_merge("pdf")
    assert snapshot(tmp_path) == before
    with pytest.raises(NotFoundError):
        store.abort_merge("pdf")


@pytest.mark.parametrize(("edits", "word"), [(Edits.YOURS, "Mine"), (Edits.THEIRS, "Newer")])
def test_one_side_decides_before_or_after_the_conflict(edits: Edits, word: str, tmp_path: Path) -> None:
    for name, first in (("at-once", edits), ("later", Edits.MERGE)):
        store, file = edited(tmp_path / name, "Three")
        updated(store, first)
        found = updated(store, edits)
        assert file.read_text().endswith(f"One.\n\nTwo.\n\n{word}.\n")
        assert found.resolved is (name == "later")
        assert not list((tmp_path / name).glob("home/.metier/kept/*"))


def test_the_next_update_finishes_a_merge_that_was_resolved_by_hand(tmp_path: Path) -> None:
    store, file = edited(tmp_path, "Three")
    updated(store)
    head = file.read_text().partition("<<<<<<<")[0]
    file.write_text(f"{head}Both.\n")
    assert updated(store).conflicts == ()
    assert file.read_text() == f"{head}Both.\n"
    assert not list((tmp_path / "home/.metier/kept").iterdir())


def test_a_side_keeps_what_was_resolved_by_hand_in_other_files(tmp_path: Path) -> None:
    old, new = (fetched("pdf", body=OLD, files={"a": text, "b": text}) for text in (b"old\n", b"new\n"))
    store = store_in(tmp_path)
    installed(store, prepared("pdf", body=OLD, files={"a": b"old\n", "b": b"old\n"}))
    folder = tmp_path / "home/.metier/plugins/pdf"
    (folder / "a").write_text("mine\n")
    (folder / "b").write_text("mine\n")
    fetcher = FakeFetcher(new, locked=[old])
    assert len(updated(store, fetcher=fetcher).conflicts) == 2
    (folder / "a").write_text("by hand\n")
    assert [one.path for one in updated(store, fetcher=fetcher).conflicts] == ["b"]
    updated(store, Edits.THEIRS, fetcher)
    assert ((folder / "a").read_text(), (folder / "b").read_text()) == ("by hand\n", "new\n")


@pytest.mark.parametrize(("edits", "wanted"), [(Edits.YOURS, [b"\0mine", None]), (Edits.THEIRS, [b"\0new", b"new\n"])])
def test_binary_and_deleted_files_are_resolved_as_a_whole(edits: Edits, wanted: list[bytes | None], tmp_path: Path) -> None:
    old = fetched("pdf", files={"image": b"\0old", "gone": b"old\n"})
    new = fetched("pdf", files={"image": b"\0new", "gone": b"new\n"})
    store = store_in(tmp_path)
    installed(store, prepared("pdf", files={"image": b"\0old", "gone": b"old\n"}))
    folder = tmp_path / "home/.metier/plugins/pdf"
    (folder / "image").write_bytes(b"\0mine")
    (folder / "gone").unlink()
    fetcher = FakeFetcher(new, locked=[old])
    assert {one.path for one in updated(store, fetcher=fetcher).conflicts} == {"image", "gone"}
    assert updated(store, edits, fetcher).resolved
    assert [(folder / name).read_bytes() if (folder / name).exists() else None for name in ("image", "gone")] == wanted


def test_the_edited_copy_of_one_agent_is_merged_into_all(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf", body=OLD), targets=("claude-code",), mode=InstallMode.COPY)
    mine, shared = (tmp_path / f"home/{folder}/skills/pdf/SKILL.md" for folder in (".claude", ".agents"))
    mine.write_text(mine.read_text().replace("Three", "Mine"))
    before = snapshot(tmp_path)
    assert updated(store).conflicts
    assert mine.read_text() == shared.read_text()
    store.abort_merge("pdf")
    assert snapshot(tmp_path) == before
    updated(store, Edits.YOURS)
    assert mine.read_text() == shared.read_text()
    assert "Mine." in shared.read_text()


def test_copies_with_different_edits_are_left_alone(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf", body=OLD), targets=("claude-code",), mode=InstallMode.COPY)
    for folder in (".claude", ".agents"):
        (tmp_path / f"home/{folder}/skills/pdf/SKILL.md").write_text(folder)
    before = snapshot(tmp_path)
    assert "different edits" in updated(store).problem
    assert snapshot(tmp_path) == before


def test_a_file_that_a_merge_would_lose_stops_it(tmp_path: Path) -> None:
    store, file = edited(tmp_path, "One")
    (file.parent / ".git").mkdir()
    (file.parent / ".git/config").write_text("mine")
    before = snapshot(tmp_path)
    assert ".git/config" in updated(store).problem
    assert snapshot(tmp_path) == before


def test_an_edited_skill_under_another_name_is_merged(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf", body=OLD, called="my-pdf"))
    file = tmp_path / "home/.metier/plugins/my-pdf/SKILL.md"
    file.write_text(file.read_text().replace("One", "Mine"))
    update(store, FETCHER, ["my-pdf"])
    assert "name: my-pdf" in file.read_text()
    assert file.read_text().endswith("Mine.\n\nTwo.\n\nNewer.\n")


def test_removing_or_overwriting_the_skill_ends_its_merge(tmp_path: Path) -> None:
    ends: list[Callable[[SkillStore], object]] = [
        lambda store: store.remove(["pdf"]),
        lambda store: updated(store, Edits.OVERWRITE),
    ]
    for number, end in enumerate(ends):
        root = tmp_path / str(number)
        store, _ = edited(root, "Three")
        updated(store)
        end(store)
        assert not list((root / "home/.metier/kept").iterdir())


def test_an_abort_without_its_backup_changes_nothing(tmp_path: Path) -> None:
    store, _ = edited(tmp_path, "Three")
    updated(store)
    shutil.rmtree(tmp_path / "home/.metier/kept/pdf.merge")
    before = snapshot(tmp_path)
    with pytest.raises(NotFoundError) as caught:
        store.abort_merge("pdf")
    assert "--theirs" in caught.value.hint
    assert snapshot(tmp_path) == before


def test_a_dry_run_names_the_conflicts_and_changes_nothing(tmp_path: Path) -> None:
    store, _ = edited(tmp_path, "Three")
    before = snapshot(tmp_path)
    (found,), outcome = update(store, FETCHER, [], InstallOptions(edits=Edits.MERGE, dry_run=True))
    assert found.conflicts
    assert [step.verb for step in outcome.steps] == [Verb.UPDATE]
    assert snapshot(tmp_path) == before
