"""`metier skill show`: the status page, and one skill in full."""

from __future__ import annotations

from pathlib import Path

from cli.shell import Shell, plain
from metier.archive import pack
from metier.sources import DiskFiles


def test_the_status_page_is_that_of_the_design(shell: Shell) -> None:
    page = shell("skill", "show").ok().out
    assert "[Bundled Skills]\n" in page
    block = page[page.index("  ✓ hello-world\n") :].splitlines()
    assert block[1].startswith("      Greets the user by name")
    assert block[1].endswith("(enabled)")
    block = page[page.index("  ✗ gh\n") :].splitlines()
    assert block[1].endswith("(unavailable)")
    assert block[2] == "      missing commands: gh"


def test_a_command_that_is_installed_makes_its_skill_available(shell: Shell) -> None:
    shell.install("gh")
    assert "  ✓ gh\n" in shell("skill", "show").out


def test_a_switched_off_skill_has_an_empty_circle(shell: Shell) -> None:
    shell("skill", "disable", "hello-world").ok()
    page = shell("skill", "show").out
    assert "  ○ hello-world\n" in page
    assert "(disabled)\n      disabled in the configuration\n" in page


def test_a_narrow_terminal_cuts_the_description_and_not_the_state(shell: Shell) -> None:
    shell.skill("wordy", description="Long. " * 60)
    lines = plain(shell.on_terminal("skill", "show", columns=50, rows=200)[1]).splitlines()
    line = lines[lines.index("  ✓ wordy") + 1]
    assert line.endswith("… (enabled)") and len(line) <= 50


def test_sources_are_listed_by_precedence(shell: Shell) -> None:
    shell.skill("mine")
    shell.skill("plugged", root=shell.metier / "plugins")
    shell.skill("theirs", root=shell.project / ".claude/skills")
    shell.skill("local", root=shell.project / ".agents/skills")
    titles = [line for line in shell("skill", "show").out.splitlines() if line.startswith("[")]
    assert titles == ["[Plugin Skills]", "[Project Skills]", "[Claude Skills]", "[User Skills]", "[Bundled Skills]"]


def test_the_status_page_fits_its_terminal(shell: Shell) -> None:
    _, text = shell.on_terminal("skill", "show", columns=50, rows=60)
    assert max(map(len, plain(text).splitlines())) <= 50


def test_one_skill_is_shown_with_all_that_is_known(shell: Shell) -> None:
    folder = shell.skill(
        "pdf",
        head="license: MIT\ncompatibility: Needs jq\nallowed-tools: Read Bash(git:*)\nmetadata:\n  author: Ada\n"
        "  version: '2'\n  tags: a b\n  requires: jq\ntriggers:\n  keywords: [pages]\ndependencies: [other]",
    )
    (folder / "scripts").mkdir()
    (folder / "scripts/run.py").write_text("x = 1\n")
    page = shell("skill", "show", "pdf").ok().out
    for text in ("✗ pdf (user, unavailable)", "missing commands: jq", "MIT", "Ada", "Read Bash(git:*)", "pages", "other",
                 "scripts/run.py  6 bytes", str(folder), "tokens"):  # fmt: skip
        assert text in page
    data = shell("skill", "show", "pdf", "--json").data
    assert (data["license"], data["allowed_tools"], data["metadata"]["author"]) == ("MIT", ["Read", "Bash(git:*)"], "Ada")
    assert {"path": "scripts/run.py", "size": 6, "executable": False} in data["files"]
    assert data["extensions"]["triggers"]["keywords"] == ["pages"]
    assert data["extensions"]["dependencies"] == ["other"]
    assert data["tokens"].keys() == {"catalog", "instructions"}


def test_the_body_alone_can_be_had(shell: Shell) -> None:
    shell.skill("pdf", body="# Title\n\nDo it.\n")
    assert shell("skill", "show", "pdf", "--body").ok().out == "# Title\n\nDo it.\n"
    assert shell("skill", "show", "pdf", "--body", "--json").data["body"] == "# Title\n\nDo it."


def test_many_files_are_cut_unless_asked_for(shell: Shell) -> None:
    folder = shell.skill("pdf")
    for number in range(50):
        (folder / f"file-{number:02}").write_text("")
    assert "10 more; --files lists all" in shell("skill", "show", "pdf").out
    assert "file-49" in shell("skill", "show", "pdf", "--files").out


def test_an_untrusted_skill_is_not_opened(shell: Shell) -> None:
    shell.skill("local", root=shell.project / ".metier/skills", body="SECRET")
    for more in ((), ("--body",), ("--files",)):
        shell("skill", "show", "local", *more).failed(5, "not trusted", "metier trust")


def test_a_skipped_skill_says_why(shell: Shell) -> None:
    shell.skill("broken", data=b"---\nname: [\n---\n")
    page = shell("skill", "show", "broken").ok().out
    assert "! broken (user, skipped)" in page
    assert "SK008" in page


def test_a_folder_that_is_not_installed_is_shown(shell: Shell, tmp_path: Path) -> None:
    folder = shell.skill("hello", root=tmp_path / "repo")
    ran = shell("skill", "show", str(folder), "--files").ok()
    assert "hello (not installed)" in ran.out
    assert "SKILL.md  " in ran.out
    assert "Do it." in shell("skill", "show", str(folder), "--body").ok().out
    shell("skill", "show", str(tmp_path / "nothing")).failed(3, "nothing")


def test_of_several_skills_in_a_folder_one_is_chosen(shell: Shell, tmp_path: Path) -> None:
    for name in ("hello", "notes"):
        shell.skill(name, root=tmp_path / "repo")
    repo = str(tmp_path / "repo")
    assert shell("skill", "show", repo, "--skill", "notes", "--json").data["folder"] == f"{repo}/notes"
    shell("skill", "show", repo).failed(3, "2 skills: hello, notes", "--skill NAME")
    shell("skill", "show", repo, "--skill", "other").failed(2, "no skill 'other'")


def test_an_archive_that_is_not_installed_is_shown(shell: Shell, tmp_path: Path) -> None:
    folder = shell.skill("hello", root=tmp_path / "repo")
    archive = tmp_path / "hello.skill"
    archive.write_bytes(pack(DiskFiles(str(folder))))
    data = shell("skill", "show", str(archive), "--json").data
    assert (data["name"], data["folder"], data["ref"]) == ("hello", None, str(archive))
    assert shell.listed() == {}


def test_a_page_shows_toolsets(shell: Shell) -> None:
    shell.skill("maths", head="toolsets: [toolsets/sums:Sums]\n")
    assert "toolsets      toolsets/sums:Sums" in shell("skill", "show", "maths").out


def test_keys_that_no_standard_knows_are_shown(shell: Shell) -> None:
    folder = shell.skill("odd")
    text = (folder / "SKILL.md").read_text()
    (folder / "SKILL.md").write_text(text.replace("---\n", "---\ncolour: blue\nmetadata:\n  mood: good\n", 1))
    page = shell("skill", "show", "odd").out
    assert "  colour        blue\n" in page
    assert "  metadata.mood good\n" in page
    assert shell("skill", "show", "odd", "--json").data["other_keys"] == {"colour": "blue", "metadata.mood": "good"}


def test_a_program_that_the_compatibility_names_is_missing_and_blocks_nothing(shell: Shell) -> None:
    folder = shell.skill("pages")
    text = (folder / "SKILL.md").read_text()
    (folder / "SKILL.md").write_text(text.replace("---\n", "---\ncompatibility: Requires Node.js 18+, poppler-utils\n", 1))
    page = shell("skill", "show", "pages").ok().out
    assert "✓ pages" in page
    assert "missing       Node.js 18+ (node is not on PATH)\n" in page
    assert "missing       poppler-utils (pdftotext is not on PATH)\n" in page
    assert "may lack: Node.js 18+" in shell("doctor").out
    shell.install("pdftotext")
    node = shell.install("node")
    node.write_text("#!/bin/sh\necho v16.20.2\n")
    assert shell("skill", "show", "pages", "--json").data["missing"] == ["Node.js 18+ (this is 16.20.2)"]
