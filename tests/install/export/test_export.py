"""Exports: the files of each format, the same bytes each time, and a sentence for a skill that does not fit."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from builders import write_skill
from metier.archive import unpack
from metier.errors import ConflictError, InvalidSkillError, MetierError, RefusedError, UsageError
from metier.install import ExportFormat, ExportResult, export_folders

HEAD = 'license: MIT\nmetadata:\n  version: "1.2.0"\n  author: Ada\n'


def skill(
    root: Path, name: str = "pdf", *, head: str = HEAD, files: bool = True, description: str = "Fills forms. Use when asked.",
    body: str = "# Forms\n\nFill them.\n",
) -> str:  # fmt: skip
    folder = write_skill(root / "given", name, head=head, description=description, body=body)
    if files:
        (folder / "scripts").mkdir()
        (folder / "scripts/run.sh").write_text("#!/bin/sh\n")
        (folder / "scripts/run.sh").chmod(0o755)
    return str(folder)


def export(tmp_path: Path, to: str, *folders: str, name: str = "", path: str = "out") -> ExportResult:
    return export_folders(folders, ExportFormat(to), name=name, path=path, base=str(tmp_path))


def tree(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def test_a_zip_has_the_folder_of_the_skill_at_its_top(tmp_path: Path) -> None:
    export(tmp_path, "zip", skill(tmp_path), path="pdf.zip")
    members = unpack((tmp_path / "pdf.zip").read_bytes()).members
    assert [(one.path, one.executable) for one in members] == [("pdf/SKILL.md", False), ("pdf/scripts/run.sh", True)]


@pytest.mark.parametrize("to", ["zip", "claude-ai", "agent-plugin", "claude-plugin", "well-known"])
def test_the_same_skill_gives_the_same_bytes(tmp_path: Path, to: str) -> None:
    folder = skill(tmp_path)
    export(tmp_path, to, folder, path="one")
    os.utime(f"{folder}/SKILL.md", (1, 1))
    export(tmp_path, to, folder, path="two")
    one, two = tmp_path / "one", tmp_path / "two"
    if one.is_file():
        assert one.read_bytes() == two.read_bytes()
    else:
        assert tree(one) == tree(two)
        assert all((one / path).read_bytes() == (two / path).read_bytes() for path in tree(one))


def test_an_agent_plugin_names_the_standard_and_what_the_skill_says_about_itself(tmp_path: Path) -> None:
    export(tmp_path, "agent-plugin", skill(tmp_path))
    assert tree(tmp_path / "out") == ["plugin.json", "skills/pdf/SKILL.md", "skills/pdf/scripts/run.sh"]
    assert json.loads((tmp_path / "out/plugin.json").read_text()) == {
        "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
        "name": "pdf",
        "version": "1.2.0",
        "description": "Fills forms. Use when asked.",
        "author": {"name": "Ada"},
        "license": "MIT",
    }
    assert os.access(tmp_path / "out/skills/pdf/scripts/run.sh", os.X_OK)


def test_a_claude_plugin_with_several_skills_needs_a_name(tmp_path: Path) -> None:
    folders = (skill(tmp_path), skill(tmp_path, "csv"))
    with pytest.raises(UsageError, match="need a name"):
        export(tmp_path, "claude-plugin", *folders)
    with pytest.raises(UsageError, match="not a plugin name"):
        export(tmp_path, "claude-plugin", *folders, name="My Plugin")
    export(tmp_path, "claude-plugin", *folders, name="office")
    manifest = json.loads((tmp_path / "out/.claude-plugin/plugin.json").read_text())
    assert manifest == {"name": "office", "description": "Skills: csv, pdf"}


def test_the_well_known_folder_has_archives_and_single_files(tmp_path: Path) -> None:
    export(tmp_path, "well-known", skill(tmp_path), skill(tmp_path, "solo", files=False))
    place = tmp_path / "out/.well-known/agent-skills"
    assert tree(place) == ["index.json", "pdf.zip", "solo/SKILL.md"]
    rows = json.loads((place / "index.json").read_text())["skills"]
    assert [(row["name"], row["type"], row["url"]) for row in rows] == [
        ("pdf", "archive", "pdf.zip"),
        ("solo", "skill-md", "solo/SKILL.md"),
    ]
    assert [one.path for one in unpack((place / "pdf.zip").read_bytes()).members] == ["SKILL.md", "scripts/run.sh"]


def test_claude_ai_gets_one_zip_for_each_skill(tmp_path: Path) -> None:
    export(tmp_path, "claude-ai", skill(tmp_path), skill(tmp_path, "csv"))
    assert tree(tmp_path / "out") == ["csv.zip", "pdf.zip"]


def test_a_section_of_agents_md_has_lower_headings_and_keeps_code(tmp_path: Path) -> None:
    folder = skill(tmp_path, files=False, body="# Forms\n\n```sh\n# a comment\n```\n\n## Details\n")
    done = export(tmp_path, "agents-md", folder, path="")
    assert done.text == "## pdf\n\nFills forms. Use when asked.\n\n### Forms\n\n```sh\n# a comment\n```\n\n#### Details\n"


@pytest.mark.parametrize(
    ("to", "options", "words"),
    [
        ("claude-ai", {"name": "claude-forms"}, "reserved word 'claude'"),
        ("claude-ai", {"description": "Fills <b>forms</b>. Use when asked."}, "XML tag"),
        ("claude-ai", {"head": "argument-hint: FILE\n"}, "keys that claude.ai refuses: argument-hint"),
        ("agents-md", {}, "scripts/run.sh, which a section of AGENTS.md cannot hold"),
    ],
)
def test_a_skill_that_breaks_a_rule_of_the_target_is_refused(
    tmp_path: Path, to: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(RefusedError, match=words) as caught:
        export(tmp_path, to, skill(tmp_path, **options))
    assert caught.value.hint
    assert not (tmp_path / "out").exists()


def test_a_long_description_is_a_remark_for_claude_ai(tmp_path: Path) -> None:
    (note,) = export(tmp_path, "claude-ai", skill(tmp_path, description="Fills forms. Use when asked. " * 10)).notes
    assert "help page allows 200" in note


def test_a_link_is_kept_in_a_zip_and_refused_elsewhere(tmp_path: Path) -> None:
    folder = skill(tmp_path)
    (Path(folder) / "go.sh").symlink_to("scripts/run.sh")
    export(tmp_path, "zip", folder)
    assert [link.path for link in unpack((tmp_path / "out").read_bytes()).links] == ["pdf/go.sh"]
    with pytest.raises(RefusedError, match=r"has a link, 'go.sh'"):
        export(tmp_path, "claude-plugin", folder, path="plugin")


def test_nothing_outside_the_skill_and_nothing_ignored_is_exported(tmp_path: Path) -> None:
    folder = Path(skill(tmp_path))
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "run.log").write_text("x")
    done = export(tmp_path, "claude-plugin", str(folder))
    assert done.left_out == ("pdf/run.log",)
    assert tree(tmp_path / "out/skills/pdf") == ["SKILL.md", "scripts/run.sh"]
    (folder / "passwd").symlink_to("/etc/passwd")
    with pytest.raises(MetierError):
        export(tmp_path, "zip", str(folder), path="other.zip")
    assert not (tmp_path / "other.zip").exists()


def test_a_secret_is_not_exported(tmp_path: Path) -> None:
    folder = Path(skill(tmp_path))
    (folder / "key.txt").write_text("ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8\n")
    with pytest.raises(InvalidSkillError, match="contains secrets"):
        export(tmp_path, "zip", str(folder))


@pytest.mark.parametrize("to", ["zip", "claude-plugin"])
def test_an_existing_path_is_not_replaced(tmp_path: Path, to: str) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(ConflictError, match="already exists"):
        export(tmp_path, to, skill(tmp_path))
    assert (tmp_path / "out").read_text() == "mine"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["given", "out"]
