"""From any folder of a repository: which skills and settings apply, and what trust covers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import write_skill
from cli.shell import Shell


@pytest.fixture
def inner(shell: Shell) -> Path:
    """A folder of a repository, with a skill at the root and one beside the folder."""
    (shell.project / ".git").mkdir()
    folder = shell.project / "packages/x"
    folder.mkdir(parents=True)
    write_skill(shell.project / ".agents/skills", "root-skill")
    write_skill(folder / ".agents/skills", "near-skill")
    return folder


def test_trust_in_the_root_covers_its_folders_and_trust_in_a_folder_not_the_root(shell: Shell, inner: Path) -> None:
    assert shell.listed(folder=inner) == {"root-skill": "untrusted", "near-skill": "untrusted"}
    shell("trust", folder=inner).ok()
    assert shell.listed(folder=inner) == {"root-skill": "untrusted", "near-skill": "enabled"}
    shell("trust", str(shell.project)).ok()
    assert shell.listed(folder=inner) == {"root-skill": "enabled", "near-skill": "enabled"}


def test_the_variable_trusts_the_current_folder_alone(shell: Shell, inner: Path) -> None:
    assert shell.listed(folder=inner, METIER_TRUST="1") == {"root-skill": "untrusted", "near-skill": "enabled"}


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (("skill", "create", "mine", "--project", "-d", "Does it. Use when asked."), ".metier/skills/mine/SKILL.md"),
        (("skill", "convert", "rule.mdc", "--project", "--yes"), ".metier/skills/rule/SKILL.md"),
        (("mcp", "install", "--client", "claude-code", "--project"), ".mcp.json"),
        (("hook", "install", "claude-code", "--project"), ".claude/settings.json"),
    ],
)
def test_what_is_for_the_project_is_written_at_its_root(shell: Shell, inner: Path, words: tuple[str, ...], file: str) -> None:
    folder = shell.project / "docs/guides"
    folder.mkdir(parents=True)
    (folder / "rule.mdc").write_text("---\ndescription: Writes a rule. Use when asked.\n---\nBe brief.\n")
    assert shell(*words, folder=folder).code == 0
    assert (shell.project / file).is_file()
    assert [path.name for path in folder.iterdir()] == ["rule.mdc"]
    # A nearer folder with skills is a project of its own.
    (inner / "rule.mdc").write_text((folder / "rule.mdc").read_text())
    assert shell(*words, folder=inner).code == 0
    assert (inner / file).is_file()


def test_a_link_out_of_the_project_is_not_followed_from_a_folder_in_it(shell: Shell, tmp_path: Path) -> None:
    (shell.project / ".git").mkdir()
    (shell.project / "docs").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (shell.project / ".metier").symlink_to(tmp_path / "elsewhere")
    words = ("skill", "create", "mine", "--project", "-d", "Does it. Use when asked.")
    shell(*words, folder=shell.project / "docs").failed(5, "is a link out of the project")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_hint_of_an_untrusted_root_can_be_typed(shell: Shell, inner: Path) -> None:
    assert f"run `metier trust {shell.project}`" in shell("skill", "list", "root-skill", folder=inner).out


def test_a_nearer_skill_wins_whatever_its_version(shell: Shell, inner: Path) -> None:
    write_skill(shell.project / ".metier/skills", "same", head="metadata:\n  version: 9.0.0")
    near = write_skill(inner / ".github/skills", "same", head="metadata:\n  version: 1.0.0")
    shell("trust", str(shell.project)).ok()
    rows = json.loads(shell("skill", "list", "same", "--json", folder=inner).out)["data"]["skills"]
    assert (rows[0]["folder"], rows[0]["state"]) == (str(near), "enabled")
    assert rows[1]["reason"] == f"hidden by the project skill in {near}"


def test_a_link_out_of_a_trusted_folder_into_the_untrusted_rest_is_not_followed(shell: Shell, inner: Path) -> None:
    write_skill(shell.project / "stash", "stashed")
    (inner / ".cursor").mkdir()
    (inner / ".cursor/skills").symlink_to(shell.project / "stash")
    shell("trust", folder=inner).ok()
    assert "stashed" not in shell.listed(folder=inner)
    shell("trust", str(shell.project)).ok()
    assert shell.listed(folder=inner)["stashed"] == "enabled"


@pytest.mark.parametrize("place", ["", "work"])
def test_a_repository_in_the_home_folder_is_no_project_of_the_folders_below(shell: Shell, place: str) -> None:
    (shell.home / ".git").mkdir()
    write_skill(shell.home / ".github/skills", "dotfile-skill")
    folder = shell.home / "work"
    folder.mkdir()
    shell("trust", "--yes", str(shell.home)).ok()
    assert ("dotfile-skill" in shell.listed(folder=folder)) is False
    assert ("dotfile-skill" in shell.listed(folder=shell.home / place)) is (place == "")


def test_settings_of_the_root_apply_below_if_the_root_is_trusted(shell: Shell, inner: Path) -> None:
    (shell.project / ".metier").mkdir()
    (shell.project / ".metier/config.toml").write_text('[skills]\ndeny = ["near-*"]\n')
    shell("trust", folder=inner).ok()
    assert shell.listed(folder=inner)["near-skill"] == "enabled"
    refused = shell("config", "set", "--project", "skills.deny", "x", folder=inner)
    assert refused.code != 0
    assert f"metier trust {shell.project}" in refused.err
    shell("trust", str(shell.project)).ok()
    assert shell.listed(folder=inner)["near-skill"] == "disabled"
    shell("config", "set", "--project", "skills.deny", "root-*", folder=inner).ok()
    assert "root-*" in (shell.project / ".metier/config.toml").read_text()
    assert not (inner / ".metier").exists()


@pytest.mark.parametrize("place", [".github/skills", ".cursor/skills", ".gemini/skills", ".opencode/skill", ".codex/skills"])
def test_the_folders_of_other_agents_are_read(shell: Shell, place: str) -> None:
    write_skill(shell.project / place, "theirs")
    shell("trust").ok()
    assert shell.listed() == {"theirs": "enabled"}


@pytest.mark.parametrize("place", [".cursor/skills", ".gemini/skills", ".copilot/skills", ".config/opencode/skill"])
def test_the_users_folders_of_other_agents_are_read(shell: Shell, place: str) -> None:
    write_skill(shell.home / place, "theirs")
    assert shell.listed() == {"theirs": "enabled"}


def test_the_own_skills_of_codex_are_not_the_users(shell: Shell) -> None:
    write_skill(shell.home / ".codex/skills/.system", "imagegen")
    assert shell.listed() == {}


def test_a_package_is_used_only_if_it_is_named_and_its_project_trusted(shell: Shell) -> None:
    write_skill(shell.project / "node_modules/plots/skills", "charts")
    assert shell.listed() == {}
    shell("config", "set", "skills.packages", "npm:plots").ok()
    assert shell.listed() == {"charts": "untrusted"}
    shell("trust").ok()
    assert shell.listed() == {"charts": "enabled"}


def test_a_package_that_is_a_link_out_of_the_project_is_not_searched(shell: Shell) -> None:
    write_skill(shell.project.parent / "outside/skills", "charts")
    (shell.project / "node_modules").mkdir()
    (shell.project / "node_modules/plots").symlink_to(shell.project.parent / "outside")
    shell("config", "set", "skills.packages", "npm:plots").ok()
    shell("trust").ok()
    assert shell.listed() == {}


def test_the_whole_list_has_the_scope_of_each_skill(shell: Shell, inner: Path) -> None:
    shell("trust").ok()
    data = json.loads(shell("skill", "list", "--all", "--json", folder=shell.project).out)["data"]
    scopes = {row["name"]: row["scope"] for row in data["skills"] if row["source"] == "project"}
    assert scopes == {"root-skill": "."}
    assert [(row["name"], row["scope"]) for row in data["elsewhere"]] == [("near-skill", "packages/x")]
    assert data["packages"] == []


def test_project_skills_are_installed_at_the_root_of_the_repository(shell: Shell) -> None:
    (shell.project / ".git").mkdir()
    deep = shell.project / "docs/guides"
    deep.mkdir(parents=True)
    skill = write_skill(shell.home / "src", "linked")
    printed = shell("skill", "install", str(skill), "--project", "--target", "none", folder=deep)
    assert "Installed 1 skill in the project" in printed.out
    assert f"run `metier trust {shell.project}`" in printed.err
    assert (shell.project / "metier.lock").exists()
    assert (shell.project / ".agents/skills/linked/SKILL.md").exists()
    assert list(deep.iterdir()) == []


def test_a_nearer_folder_with_skills_is_the_project_and_the_root_still_restores(shell: Shell, inner: Path) -> None:
    shell("trust", str(shell.project)).ok()
    skill = write_skill(shell.home / "src", "linked")
    shell("skill", "install", str(skill), "--project", "--target", "none", folder=shell.project).ok()
    (shell.project / ".agents/skills/linked/SKILL.md").unlink()
    (shell.project / ".agents/skills/linked").rmdir()
    assert "Installed 1 skill in the project" in shell("skill", "install", folder=inner).ok().out
    hiding = shell("skill", "install", str(skill), "--project", "--target", "none", folder=inner)
    assert "linked hides the project skill of that name" in hiding.err
    assert (inner / "metier.lock").exists()
    shell("skill", "remove", "--yes", str(shell.project / ".agents/skills/linked"), folder=inner).ok()
    assert (inner / ".agents/skills/linked/SKILL.md").exists()
    assert not (shell.project / ".agents/skills/linked").exists()


def test_without_a_repository_the_current_folder_is_the_project(shell: Shell) -> None:
    deep = shell.project / "docs"
    deep.mkdir()
    write_skill(shell.project / ".agents/skills", "above")
    skill = write_skill(shell.home / "src", "linked")
    shell("trust", folder=deep).ok()
    shell("skill", "install", str(skill), "--project", "--target", "none", folder=deep).ok()
    assert (deep / "metier.lock").exists()
