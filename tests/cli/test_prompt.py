"""`metier prompt`: stdout holds the text for the model and nothing else."""

from __future__ import annotations

import re

import pytest

from cli.shell import Shell


def test_the_enabled_skills_are_printed_and_the_count_goes_to_stderr(shell: Shell) -> None:
    shell.skill("pdf", description="Reads <pages> & more. Use when asked.")
    shell.skill("quiet", head="default_enabled: false")
    shell.skill("hidden", head="disable-model-invocation: true")
    ran = shell("prompt")
    assert ran.code == 0
    assert "<available_skills>" in ran.out
    assert "pdf" in ran.out
    assert "Reads &lt;pages&gt; &amp; more." in ran.out
    assert "quiet" not in ran.out
    assert "hidden" not in ran.out
    assert "tokens" in ran.err
    assert ran.err.count("\n") == 1


def test_a_program_gets_the_text_and_the_count(shell: Shell) -> None:
    shell.skill("pdf")
    ran = shell("prompt", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.data["tokens"] > 0
    assert "pdf" in str(ran.data)


def test_without_skills_the_prompt_is_empty(shell: Shell) -> None:
    ran = shell("prompt", METIER_SKILLS_DENY="*")
    assert (ran.code, ran.out) == (0, "")


@pytest.mark.parametrize("preset", ["file", "tool", "compat", "provider", "summary", "triggers", "active"])
def test_every_preset_names_the_skill(shell: Shell, preset: str) -> None:
    shell.skill("pdf", description="Merges PDF files. Use when the user wants one PDF of several.")
    ran = shell("prompt", "--preset", preset, "merge these two PDF files")
    assert ran.code == 0
    assert "pdf" in ran.out


@pytest.mark.parametrize("mount", ["../x", "/abs", ""])
def test_a_mount_path_outside_the_workspace_is_refused(shell: Shell, mount: str) -> None:
    shell.skill("pdf", root=shell.project / "skills")
    shell("prompt", "--preset", "section", "--mount", mount, "--skills-dir", "skills").failed(5, "the mount path", repr(mount))


def test_the_section_names_locations_of_one_folder_that_exist(shell: Shell) -> None:
    shell.skill("nested", root=shell.project / "skills/group")
    shell.skill("pdf")
    found = shell("prompt", "--preset", "section", "--skills-dir", "skills").out
    assert re.findall("<location>(.*)</location>", found) == ["skills/group/nested"]
    assert (shell.project / "skills/group/nested/SKILL.md").is_file()


def test_the_section_needs_one_folder(shell: Shell) -> None:
    shell("prompt", "--preset", "section").failed(2, "one folder of skills", "--skills-dir")


def test_the_list_shows_the_brief_description_in_about_fifteen_tokens_a_skill(shell: Shell) -> None:
    shell.skill(
        "pdf", description="Merges, splits and rotates files. Use when asked.", head="brief_description: Edit PDF files"
    )
    out = shell("prompt", "--preset", "triggers", "what can you do?").out
    assert "- pdf: Edit PDF files\n" in out
    assert all(len(line) <= 70 for line in out.splitlines())


def test_an_agent_is_shown_the_skills_that_are_linked_for_it(shell: Shell) -> None:
    for name, root in (("charts", shell.home / ".agents/skills"), ("secret", shell.home / "elsewhere")):
        shell.skill(name, root=root, description=f"Draws {name}. Use when the user wants {name}.")
    links, project = shell.home / ".claude/skills", shell.project / ".claude/skills"
    for folder in (links, project):
        folder.mkdir(parents=True)
    (links / "charts").symlink_to("../../.agents/skills/charts")
    (project / "secret").symlink_to(shell.home / "elsewhere/secret")
    shown = shell("prompt", "--as", "claude-code").out
    assert "charts" in shown
    assert "secret" not in shown, "a link of a project that leads out of it"
