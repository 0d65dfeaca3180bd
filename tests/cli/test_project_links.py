"""No command writes or removes through a link that leads out of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.shell import Shell
from install.builders import snapshot

FIXABLE = "---\nname: wrong\ndescription: Reads: files. Use when asked.\n---\nDo it.\n"
CREATE = ("skill", "create", "notes", "--description", "Writes notes. Use when asked.")
CASES = [
    (".metier", "", ("config", "set", "--project", "skills.max_depth", "3")),
    (".metier/config.toml", "config.toml", ("config", "set", "--project", "skills.max_depth", "3")),
    (".metier/config.toml", "config.toml", ("config", "unset", "--project", "skills.max_depth")),
    (".metier", "", (*CREATE, "--project")),
    (".metier/skills", "", (*CREATE, "--project")),
    ("sub", "", (*CREATE, "--dir", "sub")),
    (".mcp.json", "mcp.json", ("mcp", "install", "--project", "--client", "claude-code")),
    (".cursor", "", ("mcp", "install", "--project", "--client", "cursor")),
    ("linked", "pdf", ("skill", "fix", "linked")),
    ("linked", "pdf", ("skill", "fix", "./linked/SKILL.md")),
    ("linked", "", ("skill", "fix", "./linked/pdf")),
    ("AGENTS.md", "notes.md", ("skill", "sync", "--agents-md")),
    ("out.xml", "notes.md", ("skill", "test", "--allow-none", "--junit", "out.xml")),
    ("out", "", ("skill", "test", "--allow-none", "--junit", "out/new.xml")),
    ("out", "", ("skill", "eval", "--allow-none", "--offline", "--html", "out/new.html")),
    ("out", "", ("agent", "export", "helper", "-o", "out/helper.toml")),
    (".agents", "", ("skill", "install", "./source/docx", "--project")),
]


@pytest.fixture
def outside(shell: Shell) -> Path:
    folder = shell.project.parent / "outside"
    shell.skill("pdf", root=folder)
    (folder / "pdf/SKILL.md").write_text(FIXABLE)
    for name, text in (("config.toml", "[skills]\nmax_depth = 2\n"), ("notes.md", "mine\n"), ("mcp.json", "{}\n")):
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(("place", "target", "words"), CASES)
def test_a_write_through_a_link_out_of_the_project_is_refused(
    shell: Shell, outside: Path, place: str, target: str, words: tuple[str, ...]
) -> None:
    shell("agent", "create", "helper").ok()
    shell.skill("docx", root=shell.project / "source")
    (shell.project / place).parent.mkdir(parents=True, exist_ok=True)
    (shell.project / place).symlink_to(os.path.relpath(outside / target, (shell.project / place).parent))
    before = snapshot(outside, leave_out=(" ",))
    shell(*words, METIER_TRUST="1").failed(5, "out of the project")
    assert snapshot(outside, leave_out=(" ",)) == before


@pytest.mark.parametrize("place", [".claude", ".claude/skills", ".agents/skills", ".metier/skills"])
def test_skills_behind_a_link_out_of_the_project_are_not_the_projects(shell: Shell, outside: Path, place: str) -> None:
    below = outside / ("skills" if place == ".claude" else "")
    shell.skill("docx", root=below)
    (shell.project / place).parent.mkdir(parents=True, exist_ok=True)
    (shell.project / place).symlink_to(outside)
    for trusted in ("0", "1"):
        ran = shell("skill", "list", "--json", METIER_TRUST=trusted)
        assert "docx" not in [row["name"] for row in ran.data["skills"]]
        assert any("out of the project" in note for note in ran.envelope["warnings"]), ran
        shell("skill", "delete", "docx", "--yes", METIER_TRUST=trusted).failed(3)
    # The folder that it leads to can be trusted like any other.
    shell("trust", str(outside)).ok()
    assert shell.listed(METIER_TRUST="1")["docx"] == "enabled"


def test_a_users_own_linked_folder_of_skills_is_read(shell: Shell) -> None:
    shell.skill("docx", root=shell.home / "dotfiles")
    (shell.home / ".claude").mkdir()
    (shell.home / ".claude/skills").symlink_to("../dotfiles")
    assert shell.listed()["docx"] == "enabled"
    assert shell.listed(folder=shell.home)["docx"] == "enabled"


def test_a_file_outside_that_the_user_names_is_written(shell: Shell, outside: Path) -> None:
    shell("agent", "create", "helper").ok()
    shell("agent", "export", "helper", "-o", "../outside/helper.toml").ok()
    shell(*CREATE, "--dir", str(outside)).ok()
    shell("skill", "fix", str(outside / "pdf")).ok()
    assert (outside / "helper.toml").is_file()
    assert (outside / "notes/SKILL.md").is_file()
    assert "name: pdf" in (outside / "pdf/SKILL.md").read_text()
