"""The folders of a repository that apply in one of its folders."""

from __future__ import annotations

from pathlib import Path

from metier.sources import find_nested_folders, project_chain


def test_the_chain_goes_from_the_root_of_the_repository_to_the_folder(tmp_path: Path) -> None:
    (tmp_path / "repo/.git").mkdir(parents=True)
    here = tmp_path / "repo/a/b"
    assert project_chain(str(here)) == tuple(str(tmp_path / name) for name in ("repo", "repo/a", "repo/a/b"))


def test_the_search_ends_at_the_nearest_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/.git").write_text("gitdir: elsewhere\n")
    assert project_chain(str(tmp_path / "inner/a")) == (str(tmp_path / "inner"), str(tmp_path / "inner/a"))


def test_without_a_repository_only_the_folder_itself_counts(tmp_path: Path) -> None:
    assert project_chain(str(tmp_path / "a")) == (str(tmp_path / "a"),)


def test_a_repository_that_holds_the_home_folder_does_not_count(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    here = str(tmp_path / "home/work/x")
    for home in (tmp_path, tmp_path / "home"):
        assert project_chain(here, home=str(home)) == (here,)


def test_nested_folders_are_found_without_links_and_dependencies(tmp_path: Path) -> None:
    for name in ("a/.agents/skills", "node_modules/x/.agents/skills", "out/.agents/skills"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b/.agents").symlink_to(tmp_path / "out/.agents")
    found = sorted(find_nested_folders(str(tmp_path), (".agents/skills",)))
    assert found == [str(tmp_path / "a/.agents/skills"), str(tmp_path / "out/.agents/skills")]
