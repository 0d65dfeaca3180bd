"""`metier skill activate`."""

from __future__ import annotations

from cli.shell import Shell


def test_activate_prints_exactly_what_a_model_gets(shell: Shell) -> None:
    shell.skill("greet", body="Greet $ARGUMENTS, ${style}.", head="parameters:\n  style: {type: string, default: plainly}\n")
    ran = shell("skill", "activate", "greet", "Ada", "Byron", "-p", "style=warmly")
    assert ran.out == (
        '<skill_content name="greet">\nGreet Ada Byron, warmly.\n\n'
        f"Skill directory: {shell.skills}/greet\n"
        "Relative paths in this skill are relative to the skill directory.\n</skill_content>\n"
    )
    assert ran.err.endswith("tokens\n")
    assert (
        shell("skill", "activate", "greet", "x", "--json").data["text"] + "\n" == shell("skill", "activate", "greet", "x").out
    )
    assert not (shell.metier / "sessions.sqlite").exists()


def test_parameters_come_from_the_configuration_too(shell: Shell) -> None:
    shell.skill("greet", body="Do it ${style}.", head="parameters:\n  style: {type: string, default: plainly}\n")
    shell.write_config('[skills.parameters.greet]\nstyle = "formally"\n')
    assert "Do it formally." in shell("skill", "activate", "greet").out
    shell("skill", "activate", "greet", "-p", "size=3").failed(2, "unknown parameter 'size'")
    shell("skill", "activate", "greet", "-p", "size").failed(2, "is not NAME=VALUE")


def test_the_user_at_the_terminal_is_asked_about_a_toolset(shell: Shell) -> None:
    folder = shell.skill("hello", head="toolsets: ['toolsets/index:hi']")
    (folder / "toolsets").mkdir()
    (folder / "toolsets" / "index.py").write_text("def hi() -> str:\n    return 'hi'\n")
    child = shell.terminal("skill", "activate", "hello", "--session", "s")
    child.expect("hello wants to use Toolset")
    child.sendline("a")
    child.expect("</skill_content>")
    child.wait()
    child.close()
    assert shell("policy", "show", "--json").data["approvals"][0]["pattern"] == "Toolset(toolsets/index:hi)"
    assert (
        "metier policy allow"
        in shell("skill", "activate", "hello", METIER_HOME=str(shell.home / "other"), SKILLS_DIR=str(shell.skills)).err
    )
