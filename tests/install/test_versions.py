"""Several versions of one skill: which replaces another, which is installed beside it, and the lock that holds both."""

from __future__ import annotations

from pathlib import Path

import pytest

from install.builders import FakeFetcher, fetched, installed, prepared, snapshot, store_in
from metier.errors import ConfigError, ConflictError, RefusedError, SkillNotFoundError, UsageError
from metier.install.lock.lock_file import parse_lock, render_lock
from metier.install.lock.restore import restore
from metier.install.lock.verify import verify
from metier.install.options import InstallOptions, VersionAction
from metier.install.prepare import PreparedSkill
from metier.install.removal import remove
from metier.install.store import SkillStore
from metier.install.targets.scope import ScopeLevel
from metier.install.updates import outdated, update
from metier.install.versions import place_versions


def version(number: str, name: str = "pdf", **options: str) -> PreparedSkill:
    return prepared(name, head=f'metadata:\n  version: "{number}"\n' if number else "", body=f"Version {number}.\n", **options)


def add(store: SkillStore, number: str, **how: object) -> tuple[str, ...]:
    options = InstallOptions(**how)  # type: ignore[arg-type]  # the options of each test
    result = store.install(place_versions([version(number)], store, options), options)
    return tuple(result.lock.skills)


def both(store: SkillStore) -> SkillStore:
    installed(store, version("2.0.0"), targets=("claude-code",))
    add(store, "1.0.0", side_by_side=True)
    return store


def test_a_lower_version_is_installed_beside_the_other(tmp_path: Path) -> None:
    store = both(store_in(tmp_path))
    lock = store.lock()
    assert [(entry.name, entry.version, entry.targets) for entry in lock] == [
        ("pdf", "2.0.0", ("claude-code",)),
        ("pdf@1.0.0", "1.0.0", ()),
    ]
    assert store.folder_of(lock["pdf@1.0.0"]) == str(tmp_path / "home/.metier/skills/pdf@1.0.0")
    assert "name: pdf\n" in (tmp_path / "home/.metier/skills/pdf@1.0.0/SKILL.md").read_text()
    assert parse_lock(render_lock(lock), file="metier.lock") == lock
    assert {verdict.condition for verdict in verify(store)} == {"ok"}


def test_a_higher_version_takes_the_name_and_the_other_is_kept(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, version("1.0.0"), targets=("claude-code",))
    assert add(store, "2.0.0", side_by_side=True) == ("pdf", "pdf@1.0.0")
    assert store.lock()["pdf"].version == "2.0.0"
    assert "Version 2.0.0." in (tmp_path / "home/.claude/skills/pdf/SKILL.md").read_text()
    assert "Version 1.0.0." in (tmp_path / "home/.metier/skills/pdf@1.0.0/SKILL.md").read_text()


def test_an_edited_version_is_not_moved(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, version("1.0.0"))
    (Path(store.folder_of(store.lock()["pdf"])) / "SKILL.md").write_text("edited")
    before = snapshot(tmp_path)
    with pytest.raises(ConflictError, match="pdf was edited"):
        add(store, "2.0.0", side_by_side=True)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("number", ["1.0.0", "3.0.0"])
def test_without_the_option_another_version_replaces_the_installed_one(number: str, tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, version("2.0.0"))
    assert add(store, number) == ("pdf",)
    assert store.lock()["pdf"].version == number


@pytest.mark.parametrize(
    ("answer", "names"),
    [(VersionAction.SKIP, ("pdf",)), (VersionAction.REPLACE, ("pdf",)), (VersionAction.SIDE_BY_SIDE, ("pdf", "pdf@1.0.0"))],
)
def test_a_lower_version_is_a_question(answer: VersionAction, names: tuple[str, ...], tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, version("2.0.0"))
    assert add(store, "1.0.0", resolve_version=lambda old, new: answer) == names
    assert store.lock()["pdf"].version == ("1.0.0" if answer is VersionAction.REPLACE else "2.0.0")


def test_a_higher_version_is_no_question(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, version("2.0.0"))
    assert add(store, "3.0.0", resolve_version=lambda old, new: pytest.fail("asked")) == ("pdf",)


def test_a_skill_without_a_version_cannot_be_beside_another(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, version("2.0.0"))
    with pytest.raises(UsageError, match="the new pdf has no version"):
        add(store, "", side_by_side=True)


def test_a_skill_of_another_source_stays_a_conflict(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, version("2.0.0"))
    options = InstallOptions(side_by_side=True)
    other = place_versions([version("1.0.0", url="https://example.com/other.git")], store, options)
    with pytest.raises(ConflictError, match="already installed from"):
        store.install(other, options)


def test_an_extra_version_is_for_no_agent(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, version("2.0.0"))
    with pytest.raises(UsageError, match="only metier sees"):
        add(store, "1.0.0", side_by_side=True, targets=("claude-code",))


def test_an_update_leaves_an_extra_version_as_it_is(tmp_path: Path) -> None:
    store = both(store_in(tmp_path))
    head = 'metadata:\n  version: "3.0.0"\n'
    fetcher = FakeFetcher(fetched("pdf", head=head, commit="d" * 40))
    assert [status.entry.name for status in outdated(store, fetcher)] == ["pdf"]
    update(store, fetcher)
    assert [(entry.name, entry.version) for entry in store.lock()] == [("pdf", "3.0.0"), ("pdf@1.0.0", "1.0.0")]
    with pytest.raises(RefusedError, match="keeps its own"):
        update(store, fetcher, ["pdf@1.0.0"])


def test_a_second_machine_gets_both(tmp_path: Path) -> None:
    store = both(store_in(tmp_path / "first"))
    other = store_in(tmp_path / "second")
    Path(other.scope.root).mkdir(parents=True)
    Path(other.scope.lock_file).write_text(Path(store.scope.lock_file).read_text())

    sources = [
        fetched("pdf", head=f'metadata:\n  version: "{number}"\n', body=f"Version {number}.\n") for number in ("1.0.0", "2.0.0")
    ]
    restore(other, FakeFetcher(*sources), InstallOptions())
    assert snapshot(tmp_path / "second") == snapshot(tmp_path / "first")


@pytest.mark.parametrize("level", ScopeLevel)
def test_a_name_removes_all_versions_and_leaves_nothing(level: ScopeLevel, tmp_path: Path) -> None:
    store = both(store_in(tmp_path, level))
    remove(store, ["pdf"])
    assert not len(store.lock())
    assert not [path for path in snapshot(tmp_path) if "pdf" in path]


def test_one_version_can_be_removed(tmp_path: Path) -> None:
    store = both(store_in(tmp_path))
    remove(store, ["pdf@1.0.0"])
    assert [(entry.name, entry.version) for entry in store.lock()] == [("pdf", "2.0.0")]
    with pytest.raises(SkillNotFoundError, match=r"pdf@1\.0\.0") as caught:
        remove(store, ["pdf@1.0.0"])
    assert caught.value.hint == "installed versions: 2.0.0"


def test_the_highest_of_the_others_takes_the_place_of_a_removed_version(tmp_path: Path) -> None:
    store = both(store_in(tmp_path))
    add(store, "1.5.0", side_by_side=True)
    remove(store, ["pdf@2.0.0"])
    assert [(entry.name, entry.version, entry.targets) for entry in store.lock()] == [
        ("pdf", "1.5.0", ("claude-code",)),
        ("pdf@1.0.0", "1.0.0", ()),
    ]
    assert "Version 1.5.0." in (tmp_path / "home/.claude/skills/pdf/SKILL.md").read_text()
    assert not (tmp_path / "home/.metier/skills/pdf@1.5.0").exists()
    assert {verdict.condition for verdict in verify(store)} == {"ok"}


@pytest.mark.parametrize("name", ["pdf@", "pdf@latest", "pdf@1.0.0/../x", "@1.0.0", "pdf@1.0.0@2.0.0"])
def test_a_lock_with_another_kind_of_name_is_refused(name: str, tmp_path: Path) -> None:
    text = render_lock(both(store_in(tmp_path)).lock()).replace("pdf@1.0.0", name)
    with pytest.raises(ConfigError, match="is not a skill"):
        parse_lock(text, file="metier.lock")
