"""`[[skills.plugins]]`: what the configuration lists is installed by one command, and is on or off as it says."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from builders import skill_text, write_skill
from cli.shell import Shell
from install.servers import Repository, site


@pytest.fixture
def listed(shell: Shell, tmp_path: Path) -> Shell:
    """One plugin of one skill, switched off and under another name, and one of two skills."""
    write_skill(tmp_path / "one", "pdf")
    for name in ("docx", "xlsx"):
        write_skill(tmp_path / "two/skills", name)
    shell.write_config(
        f'# mine\n[[skills.plugins]]\nurl = "{tmp_path}/one/pdf"\nname = "my-pdf"\nenabled = false\n\n'
        f'[[skills.plugins]]\nurl = "{tmp_path}/two"\n'
    )
    return shell


def test_one_command_installs_the_listed_plugins_and_a_second_run_nothing(listed: Shell) -> None:
    assert listed("skill", "manage", "list").ok().out.count("(configured, not installed)") == 2
    assert listed("skill", "install", "--dry-run").ok().out.count("+ install") == 3
    assert not (listed.home / ".metier/plugins").exists()
    assert listed("skill", "install").ok().out.endswith("Installed 3 skills; 0 already up to date\n")
    assert listed.listed() == {"docx": "enabled", "my-pdf": "disabled", "xlsx": "enabled"}
    assert listed("skill", "install").ok().out == "Installed 0 skills; 3 already up to date\n"
    assert listed("skill", "manage", "list", "--json").data["not_installed"] == []


def test_a_new_row_is_installed_and_a_missing_skill_is_restored(listed: Shell, tmp_path: Path) -> None:
    listed("skill", "install").ok()
    shutil.rmtree(listed.home / ".metier/plugins/docx")
    write_skill(tmp_path, "third")
    listed.write_config(listed.config.read_text() + f'\n[[skills.plugins]]\nurl = "{tmp_path}/third"\n')
    assert listed("skill", "install").ok().out.endswith("Installed 2 skills; 2 already up to date\n")


def test_frozen_refuses_listed_plugins_that_are_not_locked(listed: Shell) -> None:
    listed("skill", "install", "--frozen").failed(5, "the lock lacks", "without --frozen")
    listed("skill", "install").ok()
    listed("skill", "install", "--frozen").ok()


def test_a_plugin_is_switched_in_its_own_row(listed: Shell) -> None:
    listed("skill", "install").ok()
    assert listed("skill", "manage", "enable", "my-pdf").ok().out == "my-pdf is enabled\n"
    assert "enabled = true" in listed.config.read_text() and listed.config.read_text().startswith("# mine\n")
    listed("skill", "manage", "disable", "my-pdf").ok()
    assert listed.listed()["my-pdf"] == "disabled"
    # Of a plugin with two, one is switched off and the other is not.
    listed("skill", "disable", "docx").ok()
    assert listed.listed() == {"docx": "disabled", "my-pdf": "disabled", "xlsx": "enabled"}


def test_switching_one_skill_of_a_plugin_that_is_off_leaves_the_others_off(listed: Shell, tmp_path: Path) -> None:
    listed.write_config(f'[[skills.plugins]]\nurl = "{tmp_path}/two"\nenabled = false\n')
    listed("skill", "install").ok()
    assert listed.listed() == {"docx": "disabled", "xlsx": "disabled"}
    listed("skill", "enable", "docx").ok()
    assert listed.listed() == {"docx": "enabled", "xlsx": "disabled"}


def test_removing_the_last_skill_removes_the_row(listed: Shell) -> None:
    listed("skill", "install").ok()
    listed("skill", "manage", "remove", "docx", "--yes").ok()
    assert "two" in listed.config.read_text()
    listed("skill", "manage", "remove", "xlsx", "--yes").ok()
    listed("skill", "manage", "remove", "my-pdf", "--yes").ok()
    assert "plugins" not in listed.config.read_text()
    listed("skill", "install").failed(3, "metier.lock has no skills")


def test_another_ref_in_the_list_is_taken(shell: Shell, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "git/r.git")
    for tag in ("v1", "v2"):
        repository.commit({"SKILL.md": skill_text("pdf", body=f"Body of {tag}.\n")})
        repository.tag(tag)
    with site(git_root=tmp_path / "git") as server:
        for tag in ("v1", "v2", "v2"):
            shell.write_config(f'[[skills.plugins]]\nurl = "git+{server.url}/r.git"\nref = "{tag}"\n')
            shell("skill", "install", PATH=os.environ["PATH"]).ok()
            assert f"Body of {tag}." in (shell.home / ".metier/plugins/pdf/SKILL.md").read_text()


def test_a_project_lists_its_own(shell: Shell, tmp_path: Path) -> None:
    write_skill(tmp_path / "one", "pdf")
    (shell.project / ".metier").mkdir()
    (shell.project / ".metier/config.toml").write_text(f'[[skills.plugins]]\nurl = "{tmp_path}/one/pdf"\n')
    shell("skill", "install").failed(3, "metier.lock has no skills")
    shell("trust").ok()
    shell("skill", "install", "--project").ok()
    assert (shell.project / ".agents/skills/pdf/SKILL.md").is_file()


def test_an_invalid_row_is_reported_with_its_place(shell: Shell) -> None:
    shell.write_config("[[skills.plugins]]\nname = 'pdf'\n")
    shell("skill", "install").failed(2, "skills.plugins[0]", "needs a url")


def test_an_unknown_key_of_a_plugin_is_a_warning_and_no_command_fails(listed: Shell) -> None:
    listed.write_config(listed.config.read_text().replace("enabled = false", 'enabled = false\ninstalledAt = "2024-01-05"'))
    for words in (("skill", "install"), ("skill", "list"), ("skill", "manage", "list")):
        listed(*words).ok()
    assert "unknown key 'installedAt' in [[skills.plugins]]" in listed("config", "show").err
    assert any("installedAt" in warning for warning in listed("config", "show", "--json").envelope["warnings"])
