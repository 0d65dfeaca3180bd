"""`metier skill create`: a new skill, written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pexpect
import pytest

from cli.shell import Shell
from metier.spec.templates import SKILL_TEMPLATES

WORDS = ("-d", "Reads pages. Use when a page must be read.")


@pytest.mark.parametrize("template", SKILL_TEMPLATES)
def test_every_template_is_strictly_valid_and_lint_finds_no_error(shell: Shell, template: str) -> None:
    data = shell("skill", "create", "my-pages", *WORDS, "-t", template, "--json").data
    assert data == {"name": "my-pages", "folder": str(shell.skills / "my-pages"), "problems": []}
    for command in ("validate", "lint"):
        ran = shell("skill", command, "my-pages", "--json")
        assert (ran.code, ran.data["failed"]) == (0, 0)
    assert shell.listed() == {"my-pages": "enabled"}
    assert (shell.skills / "my-pages").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("description", [
    "Reads: pages. Use when asked", "yes", "123", "- a list", "# no comment", "{braces} and {title}", "'quoted' \"twice\"",
    "ends with colon:", "技能 für Seiten. Use when asked.", "a\nb\n\nc", "--- three", "null", "%x", "@at", "`tick`", "x" * 1024,
    "word " * 200, "back\\slash", "tab\there", "\x1b[31mred",
], ids=range(20))  # fmt: skip
@pytest.mark.parametrize("template", ["basic"])
def test_whatever_the_description_says_it_is_read_back(shell: Shell, description: str, template: str) -> None:
    ran = shell("skill", "create", "pages", f"-d={description}", "-t", template)
    if ran.code:
        ran.failed(2)
        assert not shell.skills.exists() or not list(shell.skills.iterdir())
        return
    wanted = " ".join(f"={description}".split())
    assert shell("skill", "show", "pages", "--json").data["description"] == wanted
    assert shell("skill", "validate", "pages").code == 0


def test_a_description_that_is_not_utf_8_is_a_usage_error(shell: Shell) -> None:
    shell("skill", "create", "pages", "-d", "bad \udcff byte").failed(2, "not UTF-8")


def test_on_a_terminal_it_asks_for_the_description(shell: Shell) -> None:
    child = shell.terminal("skill", "create", "pages")
    child.expect("What does it do")
    child.sendline("Reads pages. Use when asked.")
    child.expect("Created pages")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert "Reads pages. Use when asked." in (shell.skills / "pages/SKILL.md").read_text()


def test_without_a_terminal_it_says_what_is_missing(shell: Shell) -> None:
    shell("skill", "create", "pages").failed(2, "needs a description", "--description")
    assert not shell.skills.exists()


def test_a_bad_name_is_answered_with_a_good_one(shell: Shell) -> None:
    shell("skill", "create", "My Pages", *WORDS).failed(2, "'My Pages' is not a skill name", "try 'my-pages'")
    shell("skill", "create", "../up", *WORDS).failed(2, "try 'up'")
    shell("skill", "create", "", *WORDS).failed(2)
    shell("skill", "create", "技能", *WORDS).failed(2)
    shell("skill", "create", "x" * 65, *WORDS).failed(2)
    assert not shell.skills.exists()


def test_an_existing_skill_is_never_overwritten(shell: Shell) -> None:
    folder = shell.skill("pages")
    before = shell.tree()
    shell("skill", "create", "pages", *WORDS).failed(6, "already exists")
    assert shell.tree() == before
    (folder.parent / "link").symlink_to("/nonexistent")
    shell("skill", "create", "link", *WORDS).failed(6)


def test_it_can_go_into_the_project_or_any_folder(shell: Shell) -> None:
    shell("skill", "create", "one", *WORDS, "--project").ok()
    assert (shell.project / ".metier/skills/one/SKILL.md").exists()
    shell("skill", "create", "two", *WORDS, "--dir", "some/where").ok()
    assert (shell.project / "some/where/two/SKILL.md").exists()
    shell("config", "set", "skills.user_dir", str(shell.home / "mine")).ok()
    shell("skill", "create", "three", *WORDS).ok()
    assert (shell.home / "mine/three/SKILL.md").exists()


# -f


def test_a_file_is_taken_as_it_is_under_its_new_name(shell: Shell) -> None:
    file = shell.project / "their.md"
    file.write_bytes(b"---\n# theirs\nname: old-name\ndescription: Reads. Use when asked.\nx-custom: 1\n---\r\n\nBody\t\n")
    shell("skill", "create", "pages", "-f", "their.md").ok()
    text = (shell.skills / "pages/SKILL.md").read_bytes()
    assert b"# theirs\nname: pages\n" in text
    assert text.endswith(b"---\r\n\nBody\t\n")


@pytest.mark.parametrize(
    ("data", "part"), [(b"no head", "SK005"), (b"\xff\xfe", "SK003"), (b"", "SK0"), (b"---\nname: x\n---\n", "SK1")]
)
def test_a_file_that_is_not_a_skill_stops_with_its_problems(shell: Shell, data: bytes, part: str) -> None:
    (shell.project / "bad.md").write_bytes(data)
    shell("skill", "create", "pages", "-f", "bad.md").failed(1, part)
    assert not shell.skills.exists()


def test_a_file_without_end_is_not_read_to_its_end(shell: Shell) -> None:
    assert shell("skill", "create", "pages", "-f", "/dev/zero").code == 1


def test_a_missing_file_or_a_folder_is_reported(shell: Shell) -> None:
    shell("skill", "create", "pages", "-f", "none.md").failed(3, "does not exist")
    shell("skill", "create", "pages", "-f", ".").failed(2, "is a folder")


# --edit


def test_the_editor_is_opened_on_the_new_file_and_the_result_is_checked(shell: Shell) -> None:
    editor = shell.install("my-editor", 'echo "$@" > "$HOME/called"; echo "name: twice" > "$2"')
    ran = shell("skill", "create", "pages", *WORDS, "--edit", EDITOR=f"{editor} --wait")
    assert ran.code == 1
    file = shell.skills / "pages/SKILL.md"
    assert (shell.home / "called").read_text() == f"--wait {file}\n"
    assert "error SK005" in ran.out


def test_visual_takes_precedence_over_editor(shell: Shell) -> None:
    shell.install("one", 'echo one > "$HOME/called"')
    shell.install("two", 'echo two > "$HOME/called"')
    shell("skill", "create", "pages", *WORDS, "--edit", VISUAL="one", EDITOR="two").ok()
    assert (shell.home / "called").read_text() == "one\n"


@pytest.mark.parametrize(("editor", "part"), [
    ("fails", "exited with status 3"), ("/nonexistent/editor", "cannot start"), ("nowhere", "cannot start"),
    ("un'closed", "cannot start"), (" ", "cannot start"),
])  # fmt: skip
def test_an_editor_that_fails_leaves_the_skill_and_says_where(shell: Shell, editor: str, part: str) -> None:
    shell.install("fails", "exit 3")
    shell("skill", "create", "pages", *WORDS, "--edit", EDITOR=editor).failed(5, part, str(shell.skills / "pages/SKILL.md"))
    assert shell("skill", "validate", "pages").code == 0


def test_edit_without_a_terminal_or_an_editor_starts_nothing(shell: Shell) -> None:
    shell("skill", "create", "pages", *WORDS, "--edit").failed(2, "--edit needs a terminal")
    assert not (shell.skills / "pages").exists()


def test_a_file_may_come_from_standard_input(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "piped").write_text("---\nname: other\ndescription: Draws maps. Use when asked.\n---\nDraw.\n")
    shell("skill", "create", "pages", "-f", "-", stdin=str(tmp_path / "piped")).ok()
    assert "Draw." in (shell.skills / "pages/SKILL.md").read_text()


def test_a_valid_file_is_imported_as_it_is_also_with_a_list_of_tags(shell: Shell) -> None:
    text = "---\nname: code-review\ndescription: Reviews. Use when asked.\nmetadata:\n  tags: [code, review]\n---\nRead it.\n"
    (shell.project / "their.md").write_text(text)
    shell("skill", "create", "code-review", "-f", "their.md").ok()
    assert (shell.skills / "code-review/SKILL.md").read_text() == text
    assert shell("skill", "validate", "code-review").code == 0


def test_a_piped_skill_has_its_own_name(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "piped").write_text("---\nname: pages\ndescription: Counts pages. Use when pages are counted.\n---\n\nCount.\n")
    shell("skill", "create", "-f", "-", stdin=str(tmp_path / "piped")).ok()
    assert (shell.home / ".metier/skills/pages/SKILL.md").exists()
    (tmp_path / "piped").write_text("no frontmatter")
    shell("skill", "create", "-f", "-", stdin=str(tmp_path / "piped")).failed(2, "a skill needs a name")
