"""The composition root: three facts in, everything else chosen there and nowhere else."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from builders import app_in, write_config, write_skill
from metier.app import App
from metier.catalog import Source, State
from metier.errors import ConfigError, NotFoundError, SkillNotFoundError
from metier.sources import BUNDLED, LocalMachine

BUNDLED_NAMES = {path.name for path in Path(BUNDLED).iterdir() if (path / "SKILL.md").exists()}


def own_names(app: App) -> list[str]:
    """The enabled skills that are not bundled."""
    return [entry.name for entry in app.catalog if entry.source is not Source.BUNDLED]


def test_home_is_below_the_users_home_unless_said_otherwise(tmp_path: Path) -> None:
    assert App(environment={"HOME": "/h"}, folder=tmp_path).paths.home == "/h/.metier"
    assert App(environment={"HOME": "/h", "METIER_HOME": "/m"}, folder=tmp_path).paths.home == "/m"


def test_a_fresh_machine_has_the_bundled_skills_and_writes_nothing_but_a_cache(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    assert {entry.name for entry in app.catalog.entries} == BUNDLED_NAMES
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert written <= {"home/.metier/cache/catalog.sqlite"}


@pytest.mark.parametrize(
    ("folder", "source"),
    [
        ("home/.claude/skills", Source.USER),
        ("home/.agents/skills", Source.USER),
        ("home/.metier/skills", Source.USER),
        ("project/.claude/skills", Source.CLAUDE),
        ("project/skills", Source.PROJECT),
        ("project/.agent/skills", Source.PROJECT),
        ("project/.agents/skills", Source.PROJECT),
        ("project/.metier/skills", Source.PROJECT),
        ("home/.metier/plugins", Source.PLUGIN),
    ],
)
def test_every_place_is_searched(tmp_path: Path, folder: str, source: Source) -> None:
    write_skill(tmp_path / folder, "pdf")
    assert app_in(tmp_path, variables={"METIER_TRUST": "1"}).catalog["pdf"].source is source


def test_the_same_name_in_all_places_is_won_from_plugin_down(tmp_path: Path) -> None:
    folders = [
        "home/.metier/plugins", "project/.metier/skills", "project/.agents/skills", "project/.agent/skills",
        "project/skills", "project/.claude/skills", "home/.metier/skills", "home/.agents/skills", "home/.claude/skills",
    ]  # fmt: skip
    for folder in folders:
        write_skill(tmp_path / folder, "pdf")
    catalog = app_in(tmp_path, variables={"METIER_TRUST": "1"}).catalog
    assert [entry.folder for entry in catalog.entries if entry.name == "pdf"] == [f"{tmp_path}/{f}/pdf" for f in folders]
    assert [entry.state for entry in catalog.entries if entry.name == "pdf"] == [State.ENABLED] + [State.SHADOWED] * 8


def test_row_61_of_two_project_places_one_wins_and_the_other_names_it(tmp_path: Path) -> None:
    for folder in (".agents", ".claude"):
        write_skill(tmp_path / "project" / folder / "skills", "code-review")
    catalog = app_in(tmp_path, variables={"METIER_TRUST": "1"}).catalog
    shadowed = [entry for entry in catalog.entries if entry.source is Source.CLAUDE]
    assert catalog["code-review"].folder == f"{tmp_path}/project/.agents/skills/code-review"
    assert shadowed[0].reason == f"hidden by the project skill in {tmp_path}/project/.agents/skills/code-review"


# --- trust ------------------------------------------------------------------------------------------------------------


def test_a_projects_skills_are_untrusted_until_the_user_trusts_the_folder(tmp_path: Path) -> None:
    write_skill(tmp_path / "project/.agents/skills", "pdf")
    before = app_in(tmp_path)
    assert (own_names(before), [e.state for e in before.catalog.entries if e.name == "pdf"]) == ([], [State.UNTRUSTED])
    before.trust.add(before.folder)
    assert own_names(app_in(tmp_path)) == ["pdf"]


def test_a_folder_below_a_trusted_one_is_trusted(tmp_path: Path) -> None:
    app_in(tmp_path).trust.add(str(tmp_path))
    assert app_in(tmp_path).is_trusted is True


@pytest.mark.parametrize(
    ("value", "trusted"), [("1", True), ("true", True), ("yes", True), ("0", False), ("no", False), ("", False)]
)
def test_the_variable_for_ci_says_yes_or_no(tmp_path: Path, value: str, trusted: bool) -> None:
    assert app_in(tmp_path, variables={"METIER_TRUST": value}).is_trusted is trusted


def test_another_word_in_the_variable_for_ci_is_an_error_and_no_trust(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="METIER_TRUST: 'banana' is neither yes nor no"):
        _ = app_in(tmp_path, variables={"METIER_TRUST": "banana"}).is_trusted


@pytest.mark.parametrize(
    ("variables", "flags", "origin"),
    [({"SKILLS_DIR": "nosuch"}, {}, "environment: SKILLS_DIR"), ({}, {"skills.dir": "nosuch"}, "--skills-dir")],
)
def test_a_skills_folder_that_is_not_there_is_an_error(
    tmp_path: Path, variables: dict[str, str], flags: dict[str, str], origin: str
) -> None:
    app = app_in(tmp_path, variables=variables, flags=flags)
    with pytest.raises(NotFoundError) as error:
        _ = app.catalog
    assert str(error.value) == f"no such folder: {tmp_path}/project/nosuch (from {origin})"


def test_the_setting_for_active_skills_limits_a_selection(tmp_path: Path) -> None:
    for name in ("merge-pdf", "split-pdf", "rotate-pdf"):
        write_skill(tmp_path / "home/.metier/skills", name)
    request = "use merge-pdf, split-pdf and rotate-pdf"
    assert len(app_in(tmp_path).skills.selector.select(request)) == 3
    assert len(app_in(tmp_path, variables={"SKILLS_MAX_ACTIVE": "1"}).skills.selector.select(request)) == 1


def test_an_untrusted_project_cannot_silence_your_own_skills(tmp_path: Path) -> None:
    write_skill(tmp_path / "home/.metier/skills", "pdf")
    write_skill(tmp_path / "project/.agents/skills", "pdf")
    write_config(tmp_path, '[skills]\ndisabled = ["pdf"]\nuser_dir = "/nowhere"\n', project=True)
    assert own_names(app_in(tmp_path)) == ["pdf"]


def test_a_trusted_project_may_have_settings(tmp_path: Path) -> None:
    write_skill(tmp_path / "home/.metier/skills", "pdf")
    write_config(tmp_path, '[skills]\ndisabled = ["pdf"]\n', project=True)
    app = app_in(tmp_path, variables={"METIER_TRUST": "1"})
    assert (own_names(app), app.catalog["pdf"].state) == ([], State.DISABLED)


def test_a_broken_list_of_trust_is_an_error_and_not_a_guess(tmp_path: Path) -> None:
    (tmp_path / "home/.metier").mkdir(parents=True)
    (tmp_path / "home/.metier/trust.json").write_text("{")
    with pytest.raises(ConfigError):
        app_in(tmp_path).catalog  # noqa: B018


def test_in_the_home_folder_your_own_skills_need_no_trust(tmp_path: Path) -> None:
    write_skill(tmp_path / "home/.claude/skills", "pdf")
    app = app_in(tmp_path, folder=tmp_path / "home")
    assert app.catalog["pdf"].source is Source.USER


# --- settings reach what they are about -------------------------------------------------------------------------------


def test_a_skills_dir_replaces_the_projects_places_and_is_trusted(tmp_path: Path) -> None:
    write_skill(tmp_path / "project/.agents/skills", "projects")
    write_skill(tmp_path / "mine", "named")
    for app in (
        app_in(tmp_path, flags={"skills.dir": str(tmp_path / "mine")}),
        app_in(tmp_path, variables={"SKILLS_DIR": "../mine"}),
    ):
        assert ([entry.name for entry in app.catalog.entries if entry.name not in BUNDLED_NAMES]) == ["named"]


def test_user_and_plugin_folders_can_be_elsewhere(tmp_path: Path) -> None:
    write_config(tmp_path, '[skills]\nuser_dir = "../s"\nplugins_dir = "~/p"\n')
    write_skill(tmp_path / "home/s", "mine")
    write_skill(tmp_path / "home/p", "theirs")
    app = app_in(tmp_path)
    assert own_names(app) == ["mine", "theirs"]
    assert (app.installation.user_dir, app.installation.plugins_dir) == (f"{tmp_path}/home/.metier/../s", f"{tmp_path}/home/p")


def test_switches_and_filters_of_the_configuration_decide_states(tmp_path: Path) -> None:
    write_config(tmp_path, """
        [skills]
        disabled = ["a"]
        enabled = ["beta"]
        deny = ["d*"]
        disabled_bundled = ["gh"]
    """)  # fmt: skip
    for name in ("a", "b", "den"):
        write_skill(tmp_path / "home/.metier/skills", name)
    for name in ("beta", "gamma"):
        write_skill(tmp_path / "home/.metier/skills", name, head="default_enabled: false")
    app = app_in(tmp_path)
    assert own_names(app) == ["b", "beta"]
    assert {name: app.catalog[name].state for name in ("a", "den", "gamma", "gh")} == dict.fromkeys(
        ("a", "den", "gamma", "gh"), State.DISABLED
    )


def test_allow_and_enabled_bundled_narrow_the_catalog(tmp_path: Path) -> None:
    narrowed = app_in(tmp_path, variables={"METIER_SKILLS_ENABLED_BUNDLED": "hello-world"})
    allowed = app_in(tmp_path, variables={"METIER_SKILLS_ALLOW": "hello-*"})
    assert narrowed.catalog.names == allowed.catalog.names == ("hello-world",)


def test_bounds_of_the_search_come_from_the_settings(tmp_path: Path) -> None:
    write_skill(tmp_path / "home/.metier/skills/1/2", "deep")
    shallow = app_in(tmp_path, variables={"METIER_SKILLS_MAX_DEPTH": "2", "METIER_SKILLS_MAX_DIRECTORIES": "50"})
    assert (shallow.skills.limits.depth, shallow.skills.limits.directories) == (2, 50)
    assert (own_names(shallow), own_names(app_in(tmp_path))) == ([], ["deep"])
    assert "deeper than 2 levels" in " ".join(shallow.catalog.warnings)


def test_the_cache_can_be_switched_off(tmp_path: Path) -> None:
    app = app_in(tmp_path, variables={"METIER_CACHE_ENABLED": "no"})
    assert (len(app.catalog.entries), Path(app.paths.catalog_cache).exists()) == (len(BUNDLED_NAMES), False)


def test_commands_are_looked_for_on_the_path_of_the_environment(tmp_path: Path) -> None:
    write_skill(tmp_path / "home/.metier/skills", "x", head="metadata:\n  requires: frobnicate")
    assert app_in(tmp_path).catalog["x"].reason == "missing commands: frobnicate"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/frobnicate").write_text("#!/bin/sh\n")
    (tmp_path / "bin/frobnicate").chmod(0o755)
    app = app_in(tmp_path, variables={"PATH": str(tmp_path / "bin")})
    assert (own_names(app), isinstance(app.skills.machine, LocalMachine)) == (["x"], True)


def test_the_loader_reads_what_the_catalog_lists(tmp_path: Path) -> None:
    write_skill(tmp_path / "home/.metier/skills", "pdf", body="Fill it in.")
    app = app_in(tmp_path)
    assert app.skills.loader.load_full("pdf").instructions == "Fill it in."
    with pytest.raises(SkillNotFoundError):
        app.skills.loader.load_full("nope")


def test_a_catalog_stays_as_it_was_and_a_fresh_one_sees_what_is_new(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    assert own_names(app) == []
    write_skill(tmp_path / "home/.metier/skills", "new")
    assert (own_names(app), "new" in app.skills.fresh_catalog()) == ([], True)


def test_watching_reports_an_added_skill(tmp_path: Path) -> None:
    (tmp_path / "home/.metier/skills").mkdir(parents=True)
    app, stop = app_in(tmp_path), threading.Event()
    timer = threading.Timer(20, stop.set)
    timer.start()
    try:
        updates = app.skills.watch(stop)
        assert next(updates).changes == ()
        write_skill(tmp_path / "home/.metier/skills", "new")
        assert [(change.kind, change.entry.name) for change in next(updates).changes] == [("added", "new")]
    finally:
        stop.set()
        timer.cancel()
        timer.join()
