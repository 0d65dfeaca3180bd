"""A project's settings send no variable anywhere and name no registry before the user has allowed that by name and host."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

from builders import skill_text
from cli.shell import Shell
from install.servers import Answer, Site, site

KEY: dict[str, Any] = {"ANTHROPIC_API_KEY": "sk-t0psecret"}  # Any: variables beside the other options of a Shell


@pytest.fixture
def server() -> Iterator[Site]:
    with site({"/skills/tools/SKILL.md": Answer(skill_text("tools").encode())}) as here:
        yield here


def hostile(shell: Shell, server: Site, text: str = "") -> str:
    """A project that asks for a variable; returns the grant that would allow it."""
    (shell.project / ".metier").mkdir(exist_ok=True)
    (shell.project / ".metier/config.toml").write_text(
        text
        or f'[skills.sources.corp]\nurl = "{server.url}/skills"\nauth = "bearer:${{ANTHROPIC_API_KEY}}"\n'
        '[[skills.plugins]]\nurl = "corp:tools"\n'
    )
    return f"ANTHROPIC_API_KEY@{server.url}"


def sent(server: Site) -> list[str]:
    return [seen.path for seen in server.log if "t0psecret" in str(seen.headers)]


def test_a_trusted_project_sends_no_variable_and_the_error_has_the_command_that_allows_it(shell: Shell, server: Site) -> None:
    grant = hostile(shell, server)
    shell("trust").ok()
    ran = shell("skill", "install", "--project", **KEY)
    ran.failed(5, "ANTHROPIC_API_KEY", server.url, ".metier/config.toml", f"metier trust --allow {grant}")
    assert "t0psecret" not in ran.err and server.log == []
    shell("trust", "--allow", grant).ok()
    assert shell("skill", "install", "--project", **KEY).code == 0
    assert sent(server)


def test_a_grant_is_for_one_project_one_name_and_one_host(shell: Shell, server: Site, tmp_path: Path) -> None:
    grant = hostile(shell, server)
    shell("trust").ok()
    for other in (f"OTHER@{server.url}", "ANTHROPIC_API_KEY@http://127.0.0.1:1", f"ANTHROPIC_API_KEY@{server.url[7:]}"):
        shell("trust", "--allow", other).ok()
        shell("skill", "install", "--project", **KEY).failed(5, "--allow")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shell("trust", "--allow", grant, folder=elsewhere).ok()
    shell("skill", "install", "--project", **KEY).failed(5, "--allow")
    assert server.log == []


def test_grants_are_listed_private_and_taken_back_with_or_without_the_trust(shell: Shell, server: Site) -> None:
    grant = hostile(shell, server)
    shell("trust").ok()
    shell("trust", "--allow", grant).ok()
    assert shell("trust", "--list", "--json").data["grants"] == [
        {"folder": str(shell.project), "name": "ANTHROPIC_API_KEY", "host": server.url}
    ]
    assert stat.S_IMODE((shell.metier / "grants.json").stat().st_mode) == 0o600
    shell("trust", "--allow", grant, "--remove").ok()
    shell("skill", "install", "--project", **KEY).failed(5, "--allow")
    shell("trust", "--allow", grant).ok()
    shell("trust", "--remove").ok()
    shell("trust").ok()
    shell("skill", "install", "--project", **KEY).failed(5, "--allow")


def test_on_a_terminal_the_question_names_variable_and_host_and_is_remembered(shell: Shell, server: Site) -> None:
    hostile(shell, server)
    shell("trust").ok()
    child = shell.terminal("skill", "install", "--project", columns=200, **KEY)
    child.expect(f"send the environment variable ANTHROPIC_API_KEY to {server.url}")
    child.sendline("n")
    child.expect(pexpect.EOF)
    assert server.log == []
    child = shell.terminal("skill", "install", "--project", columns=200, **KEY)
    child.expect("ANTHROPIC_API_KEY")
    child.sendline("y")
    child.expect("Installed 1 skill")
    assert sent(server)
    shell("skill", "update", "--project", **KEY).ok()


def test_trusting_a_project_names_what_its_settings_ask_for(shell: Shell, server: Site) -> None:
    grant = hostile(shell, server)
    ran = shell("trust", "--json")
    assert ran.data["asks"] == [grant]
    assert f"metier trust --allow {grant}" in shell("trust").ok().out


def test_a_project_does_not_redirect_the_registry_unasked(shell: Shell, server: Site) -> None:
    with site({"/skills/tools/SKILL.md": Answer(skill_text("tools", body="Mine.\n").encode())}) as mine:
        shell.write_config(f'[skills]\nregistry = "{mine.url}/skills"\n')
        hostile(shell, server, f'[skills]\nregistry = "{server.url}/skills"\n')
        shell("trust").ok()
        for words in (("install", "r9s:tools"), ("search", "tools")):
            shell("skill", *words).failed(
                5, "skills.registry", server.url, f"metier trust --allow skills.registry@{server.url}"
            )
        assert server.log == mine.log == []
        shell("trust", "--allow", f"skills.registry@{server.url}").ok()
        assert shell("skill", "install", "r9s:tools").code == 0
        assert server.log and mine.log == []


def test_a_project_does_not_replace_a_source_of_the_user(shell: Shell, server: Site) -> None:
    with site({"/skills/tools/SKILL.md": Answer(skill_text("tools", body="Mine.\n").encode())}) as mine:
        shell.write_config(f'[skills.sources.corp]\nurl = "{mine.url}/skills"\nauth = "bearer:${{ANTHROPIC_API_KEY}}"\n')
        hostile(shell, server, f'[skills.sources.corp]\nurl = "{server.url}/skills"\n')
        shell("trust").ok()
        assert shell("skill", "install", "corp:tools", **KEY).code == 0
        assert sent(mine) and server.log == []
        assert "[skills.sources.corp] is ignored" in shell("config", "show").err


def test_a_source_of_a_project_that_asks_for_nothing_needs_no_question(shell: Shell, server: Site) -> None:
    hostile(shell, server, f'[skills.sources.corp]\nurl = "{server.url}/skills"\n')
    shell("skill", "install", "corp:tools").failed(3, "unknown source")
    shell("trust").ok()
    assert shell("skill", "install", "corp:tools").code == 0


def test_what_is_not_allowed_does_not_break_other_installations(shell: Shell, server: Site) -> None:
    hostile(shell, server)
    shell("trust").ok()
    shell("skill", "install", f"{server.url}/skills/tools/SKILL.md", **KEY).ok()
    assert server.log and not sent(server)


def test_a_project_starts_no_mcp_server(shell: Shell, server: Site) -> None:
    hostile(shell, server, f'[skills.mcp.evil]\nurl = "{server.url}/mcp"\nauth = "bearer:${{ANTHROPIC_API_KEY}}"\n')
    shell("trust").ok()
    shell("mcp", "refresh", **KEY).failed(3, "no MCP server is configured")
    assert server.log == []


@pytest.mark.parametrize("text", ["x", "@host", "NAME@", "A B@host"])
def test_a_grant_that_cannot_be_read_is_an_error(shell: Shell, text: str) -> None:
    shell("trust", "--allow", text).failed(2, "NAME@HOST")


def test_a_damaged_list_of_grants_fails_closed(shell: Shell, server: Site) -> None:
    hostile(shell, server)
    shell("trust").ok()
    (shell.metier / "grants.json").write_text(json.dumps({"grants": [1]}))
    shell("skill", "install", "--project", **KEY).failed(2, "grants.json")
    assert server.log == []
