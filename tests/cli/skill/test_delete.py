"""`metier skill delete`: after a yes, whole, and nothing else."""

from __future__ import annotations

import pexpect
import pytest

from cli.shell import Shell


def test_on_a_terminal_it_asks_and_a_yes_deletes(shell: Shell) -> None:
    folder = shell.skill("pdf")
    child = shell.terminal("skill", "delete", "pdf", columns=300)
    child.expect_exact(f"Delete {folder} with 1 file? [y/N]: ")
    child.sendline("y")
    child.expect("Deleted pdf")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert list(shell.skills.iterdir()) == []


@pytest.mark.parametrize("answer", ["n", ""])
def test_anything_but_a_yes_keeps_it(shell: Shell, answer: str) -> None:
    folder = shell.skill("pdf")
    child = shell.terminal("skill", "delete", "pdf")
    child.expect_exact("[y/N]: ")
    child.sendline(answer)
    child.expect("Kept pdf")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 1
    assert (folder / "SKILL.md").exists()


def test_the_end_of_input_does_not_confirm(shell: Shell) -> None:
    folder = shell.skill("pdf")
    child = shell.terminal("skill", "delete", "pdf")
    child.expect_exact("[y/N]: ")
    child.sendeof()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert (folder / "SKILL.md").exists()


def test_without_a_terminal_it_needs_a_yes_on_the_command_line(shell: Shell) -> None:
    folder = shell.skill("pdf")
    shell("skill", "delete", "pdf").failed(2, "needs confirmation", "--yes")
    assert (folder / "SKILL.md").exists()
    data = shell("skill", "delete", "pdf", "--yes", "--json").data
    assert data == {"name": "pdf", "folder": str(folder), "files": 1, "deleted": True}
    assert not folder.exists()


@pytest.mark.parametrize("words", [("delete",), ("remove",), ("manage", "remove")])
def test_both_names_of_the_command_do_it(shell: Shell, words: tuple[str, ...]) -> None:
    shell.skill("pdf", root=shell.metier / "plugins")
    shell("skill", *words, "pdf", "--yes").ok()
    assert shell.listed() == {}


def test_a_bundled_skill_stays(shell: Shell) -> None:
    shell("skill", "delete", "hello-world", "--yes").failed(5, "bundled", "metier skill disable hello-world")


def test_deleting_a_skill_reveals_the_bundled_one_of_its_name(shell: Shell) -> None:
    shell.skill("hello-world")
    shell("skill", "delete", "hello-world", "--yes").ok()
    assert shell("skill", "show", "hello-world", "--json").data["source"] == "bundled"


def test_of_several_the_source_is_asked_for(shell: Shell) -> None:
    shell.skill("pdf")
    shell.skill("pdf", root=shell.metier / "plugins")
    shell("skill", "delete", "pdf", "--yes").failed(3, "several", "--source: plugin, user")
    shell("skill", "delete", "pdf", "--yes", "--source", "plugin").ok()
    assert not (shell.metier / "plugins/pdf").exists()
    assert (shell.skills / "pdf").exists()
    shell("skill", "delete", "pdf", "--yes", "--source", "project").failed(3, "no project skill has that name")
    shell("skill", "delete", "hello-world", "--yes", "--source", "user").failed(3)
    assert (shell.skills / "pdf").exists()


def test_of_several_in_one_source_the_folder_is_asked_for(shell: Shell) -> None:
    first, second = shell.skill("pdf"), shell.skill("pdf", root=shell.home / ".claude/skills")
    shell("skill", "delete", "pdf", "--yes").failed(3, str(first), str(second), "name its folder")
    shell("skill", "delete", str(second), "--yes").ok()
    assert first.exists()
    assert not second.exists()
    shell("skill", "delete", str(shell.home), "--yes").failed(3)
    assert shell.home.exists()


def test_a_link_is_deleted_and_its_target_is_kept(shell: Shell) -> None:
    outside = shell.skill("outside", root=shell.project / "elsewhere")
    shell.skills.mkdir(parents=True)
    (shell.skills / "link").symlink_to(outside)
    shell("skill", "delete", "link", "--yes").ok()
    assert (outside / "SKILL.md").exists()
    assert list(shell.skills.iterdir()) == []


def test_a_skill_that_cannot_be_moved_stays_whole(shell: Shell) -> None:
    """A folder that may not be written cannot be moved out of its own."""
    folder = shell.skill("pdf")
    folder.chmod(0o500)
    shell.sh('"$METIER" skill delete pdf --yes', humble=True).failed(1, "permission denied")
    assert (folder / "SKILL.md").exists()
    assert [path.name for path in shell.skills.iterdir()] == ["pdf"]
