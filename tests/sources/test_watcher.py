"""Hot reload: what happened on disk, as changes of the catalog. Every test waits for events, none for a clock."""

from __future__ import annotations

import queue
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from builders import FakeMachine, place, skill_text, write_skill
from metier.catalog import Catalog
from metier.sources import CatalogChange, CatalogUpdate, ChangeKind, SourceFolder, build_catalog, diff_catalogs, watch

PATIENCE = 60.0


class Watcher:
    """A watch that runs in a thread, so that a test can wait for its next update."""

    def __init__(self, *places: SourceFolder, files: bool = False) -> None:
        self.places, self.files = places, files
        self.stop = threading.Event()
        self.updates: queue.Queue[CatalogUpdate | BaseException] = queue.Queue()
        self.thread = threading.Thread(target=self._run)

    def catalog(self) -> Catalog:
        return build_catalog(self.places, machine=FakeMachine())

    def _run(self) -> None:
        try:
            for update in watch(self.places, self.catalog, stop=self.stop, files=self.files):
                self.updates.put(update)
        except BaseException as error:
            self.updates.put(error)

    def next(self) -> CatalogUpdate:
        update = self.updates.get(timeout=PATIENCE)
        assert isinstance(update, CatalogUpdate), update
        return update

    def until(self, seen: Callable[[list[tuple[str, str]]], bool]) -> list[tuple[str, str]]:
        """The changes so far, once they are what a test waits for: a burst may come as more than one update."""
        so_far: list[tuple[str, str]] = []
        while not seen(so_far):
            so_far += summary(self.next().changes)
        return so_far


def summary(found: tuple[CatalogChange, ...]) -> list[tuple[str, str]]:
    return [(change.kind.value, change.entry.name) for change in found]


@contextmanager
def watching(*roots: Path, files: bool = False) -> Iterator[Watcher]:
    watcher = Watcher(*map(place, roots), files=files)
    watcher.thread.start()
    try:
        yield watcher
    finally:
        watcher.stop.set()
        watcher.thread.join(PATIENCE)
        assert not watcher.thread.is_alive()


def test_the_first_update_is_the_catalog_as_it_is(tmp_path: Path) -> None:
    write_skill(tmp_path, "x")
    with watching(tmp_path) as watcher:
        first = watcher.next()
    assert (first.catalog.names, first.changes) == (("x",), ())


def test_a_skill_that_is_added_edited_and_deleted_is_reported_each_time(tmp_path: Path) -> None:
    write_skill(tmp_path, "x")
    with watching(tmp_path) as watcher:
        watcher.next()
        write_skill(tmp_path, "new")
        assert ("added", "new") in watcher.until(lambda so_far: any(name == "new" for _, name in so_far))
        (tmp_path / "x/SKILL.md").write_text(skill_text("x", description="Changed."))
        assert ("changed", "x") in watcher.until(lambda so_far: ("changed", "x") in so_far)
        shutil.rmtree(tmp_path / "new")
        assert ("removed", "new") in watcher.until(lambda so_far: ("removed", "new") in so_far)


def test_an_update_holds_the_new_catalog(tmp_path: Path) -> None:
    write_skill(tmp_path, "x", description="Old.")
    with watching(tmp_path) as watcher:
        watcher.next()
        (tmp_path / "x/SKILL.md").write_text(skill_text("x", description="New."))
        while (update := watcher.next()).catalog["x"].description != "New.":
            pass
        assert [change.entry.description for change in update.changes] == ["New."]


def test_a_change_made_while_the_first_update_is_looked_at_is_not_missed(tmp_path: Path) -> None:
    stop = threading.Event()
    updates = watch([place(tmp_path)], lambda: build_catalog([place(tmp_path)], machine=FakeMachine()), stop=stop)
    next(updates)
    write_skill(tmp_path, "early")
    timer = threading.Timer(PATIENCE, stop.set)
    timer.start()
    try:
        assert summary(next(updates).changes) == [("added", "early")]
    finally:
        stop.set()
        timer.cancel()
        timer.join()


def test_a_place_that_appears_later_is_picked_up(tmp_path: Path) -> None:
    write_skill(tmp_path / "there", "x")
    with watching(tmp_path / "there", tmp_path / "later") as watcher:
        watcher.next()
        write_skill(tmp_path / "later", "y")
        watcher.until(lambda so_far: ("added", "y") in so_far)
        write_skill(tmp_path / "later", "z")
        watcher.until(lambda so_far: ("added", "z") in so_far)


def test_watching_begins_before_any_place_exists(tmp_path: Path) -> None:
    with watching(tmp_path / "later") as watcher:
        assert watcher.next().catalog.entries == ()
        write_skill(tmp_path / "later", "y")
        watcher.until(lambda so_far: ("added", "y") in so_far)


def test_a_place_that_is_deleted_and_made_again_is_still_watched(tmp_path: Path) -> None:
    root = tmp_path / "skills"
    write_skill(root, "x")
    with watching(root) as watcher:
        watcher.next()
        shutil.rmtree(root)
        root.mkdir()
        watcher.until(lambda so_far: ("removed", "x") in so_far)
        write_skill(root, "y")
        watcher.until(lambda so_far: ("added", "y") in so_far)
        write_skill(root, "z")
        watcher.until(lambda so_far: ("added", "z") in so_far)


def test_a_file_that_changes_nothing_in_the_catalog_is_not_an_update(tmp_path: Path) -> None:
    write_skill(tmp_path, "x")
    with watching(tmp_path) as watcher:
        watcher.next()
        (tmp_path / "x/notes.txt").write_text("nothing to see")
        write_skill(tmp_path, "y")
        assert {name for _, name in watcher.until(lambda so_far: ("added", "y") in so_far)} == {"y"}


def test_every_file_of_a_skill_is_reported_on_request(tmp_path: Path) -> None:
    write_skill(tmp_path, "x")
    (tmp_path / "x/references").mkdir()
    with watching(tmp_path, files=True) as watcher:
        watcher.next()
        (tmp_path / "loose.txt").write_text("of no skill")
        (tmp_path / "x/references/notes.txt").write_text("something to see")
        assert {name for _, name in watcher.until(lambda so_far: ("changed", "x") in so_far)} == {"x"}


def test_a_stop_ends_the_stream_soon(tmp_path: Path) -> None:
    with watching(tmp_path) as watcher:
        watcher.next()
        watcher.stop.set()
        watcher.thread.join(PATIENCE)
        assert not watcher.thread.is_alive()


def test_a_stop_ends_a_stream_without_places_too(tmp_path: Path) -> None:
    with watching(tmp_path / "never") as watcher:
        watcher.next()
    assert watcher.updates.empty()


# --- the difference of two catalogs -----------------------------------------------------------------------------------


def catalog(tmp_path: Path) -> Catalog:
    return build_catalog([place(tmp_path)], machine=FakeMachine())


def test_equal_catalogs_have_no_changes(tmp_path: Path) -> None:
    write_skill(tmp_path, "x")
    assert diff_catalogs(catalog(tmp_path), catalog(tmp_path)) == ()


def test_a_renamed_folder_is_one_skill_gone_and_one_more(tmp_path: Path) -> None:
    write_skill(tmp_path, "x", folder="one")
    before = catalog(tmp_path)
    (tmp_path / "one").rename(tmp_path / "two")
    assert [(change.kind, Path(change.entry.folder).name) for change in diff_catalogs(before, catalog(tmp_path))] == [
        (ChangeKind.REMOVED, "one"),
        (ChangeKind.ADDED, "two"),
    ]


def test_a_skill_that_turns_bad_is_a_change(tmp_path: Path) -> None:
    write_skill(tmp_path, "x")
    before = catalog(tmp_path)
    write_skill(tmp_path, "x", data=b"nothing")
    (change,) = diff_catalogs(before, catalog(tmp_path))
    assert (change.kind, change.entry.state) == (ChangeKind.CHANGED, "skipped")


@pytest.mark.parametrize("kind", ChangeKind)
def test_a_kind_is_a_word_for_programs(kind: ChangeKind) -> None:
    assert str(kind) in ("added", "changed", "removed")
