"""The folders that are searched, from lowest to highest precedence."""

from __future__ import annotations

import os
from pathlib import Path

from metier.catalog import Source
from metier.sources import BUNDLED, SourceFolder, standard_folders


def places(
    tmp_path: Path, *, project: Path | None = None, trusted: bool = True, skills_dir: str | None = None
) -> tuple[SourceFolder, ...]:
    home = tmp_path / "home"
    return standard_folders(
        home=str(home),
        user_dir=str(home / ".metier/skills"),
        plugins_dir=str(home / ".metier/plugins"),
        project=str(project or tmp_path / "project"),
        project_trusted=trusted,
        skills_dir=skills_dir,
    )


def shown(found: tuple[SourceFolder, ...], tmp_path: Path) -> list[tuple[str, str]]:
    return [(place.source, os.path.relpath(place.root, tmp_path)) for place in found if place.root != BUNDLED]


USER = [("user", "home/.claude/skills"), ("user", "home/.agents/skills"), ("user", "home/.metier/skills")]
PLUGIN = [("plugin", "home/.metier/plugins")]


def test_the_places_are_those_of_the_decision_and_in_its_order(tmp_path: Path) -> None:
    project = [
        ("claude", "project/.claude/skills"),
        ("project", "project/skills"),
        ("project", "project/.agent/skills"),
        ("project", "project/.agents/skills"),
        ("project", "project/.metier/skills"),
    ]
    assert shown(places(tmp_path), tmp_path) == USER + project + PLUGIN
    assert places(tmp_path)[0] == SourceFolder(Source.BUNDLED, BUNDLED)


def test_only_the_projects_own_places_depend_on_trust(tmp_path: Path) -> None:
    untrusted = [place for place in places(tmp_path, trusted=False) if not place.trusted]
    assert {place.source for place in untrusted} == {Source.CLAUDE, Source.PROJECT}
    assert all(place.trusted for place in places(tmp_path, trusted=True))


def test_a_skills_dir_replaces_the_projects_places_and_is_trusted_by_being_named(tmp_path: Path) -> None:
    found = places(tmp_path, trusted=False, skills_dir=str(tmp_path / "mine"))
    assert shown(found, tmp_path) == [*USER, ("project", "mine"), *PLUGIN]
    assert all(place.trusted for place in found)


def test_in_the_home_folder_each_place_is_searched_once_and_as_the_users(tmp_path: Path) -> None:
    found = places(tmp_path, project=tmp_path / "home", trusted=False)
    assert shown(found, tmp_path) == [*USER, ("project", "home/skills"), ("project", "home/.agent/skills"), *PLUGIN]
    assert [place.trusted for place in found if place.source is Source.USER] == [True, True, True]


def test_a_link_to_a_place_already_searched_is_not_searched_again(tmp_path: Path) -> None:
    (tmp_path / "home/.agents/skills").mkdir(parents=True)
    (tmp_path / "home/.claude").mkdir()
    (tmp_path / "home/.claude/skills").symlink_to("../.agents/skills")
    assert [root for source, root in shown(places(tmp_path), tmp_path) if source == "user"] == [
        "home/.claude/skills",
        "home/.metier/skills",
    ]


def test_a_caller_without_a_project_has_only_its_own_places() -> None:
    found = standard_folders(home="/h", user_dir="/h/s", plugins_dir="/h/p", project=None, project_trusted=False)
    assert {place.source for place in found} == {Source.BUNDLED, Source.USER, Source.PLUGIN}
