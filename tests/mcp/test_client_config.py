"""`metier mcp install`: our entry in a client's file, and nothing else of it."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cli.shell import METIER, Shell

ENTRY = {"command": METIER, "args": ["mcp"]}
PLACES: dict[str, tuple[str, str, str]] = {
    "claude-code": (".claude.json", ".mcp.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", ".vscode/mcp.json", "servers"),
    "codex": (".codex/config.toml", ".codex/config.toml", "mcp_servers"),
}
CLIENTS = pytest.mark.parametrize("client", PLACES)


def servers(file: Path, client: str) -> dict[str, Any]:
    text = file.read_text(encoding="utf-8")
    document: dict[str, Any] = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    found: dict[str, Any] = document[PLACES[client][2]]
    return found


def typed(client: str, entry: dict[str, Any]) -> dict[str, Any]:
    return {"type": "stdio", **entry} if client in ("claude-code", "vscode") else entry


@CLIENTS
def test_a_client_without_a_file_gets_one_and_a_second_time_nothing_happens(shell: Shell, client: str) -> None:
    file = shell.home / PLACES[client][0]
    row = shell("mcp", "install", "--client", client, "--json").data["clients"][0]
    assert row == {"client": client, "file": str(file), "changed": True, "backup": None}
    assert servers(file, client) == {"metier": typed(client, ENTRY)}
    before = shell.tree()
    assert "already configured in" in shell("mcp", "install", "--client", client).ok().out
    assert shell.tree() == before


@CLIENTS
def test_a_project_gets_a_file_that_works_for_everyone(shell: Shell, client: str) -> None:
    shell("mcp", "install", "--client", client, "--project", "--allow-scripts").ok()
    entry = servers(shell.project / PLACES[client][1], client)["metier"]
    assert entry == typed(client, {"command": "metier", "args": ["mcp", "--allow-scripts"]})
    assert not (shell.home / PLACES[client][0]).exists()


def test_notes_other_servers_and_unknown_keys_stay_and_the_old_file_is_kept(shell: Shell) -> None:
    file = shell.home / ".config/Code/User/mcp.json"
    file.parent.mkdir(parents=True)
    entry = '"metier": {"command": "/old/metier", "env": {"A": "b"}}, // ours'
    old = f'{{\n  // mine\n  "servers": {{\n    {entry}\n  }},\n  "x": 1\n}}\n'
    file.write_text(old)
    file.chmod(0o640)
    row = shell("mcp", "install", "--client", "vscode", "--json").data["clients"][0]
    text = file.read_text()
    assert "// mine" in text
    assert "// ours" in text
    assert '"env": {"A": "b"}' in text
    assert f'"command": "{METIER}"' in text
    assert Path(row["backup"]).read_text() == old
    assert file.stat().st_mode & 0o777 == Path(row["backup"]).stat().st_mode & 0o777 == 0o640
    assert sorted(each.name for each in file.parent.iterdir()) == ["mcp.json", Path(row["backup"]).name]


def test_a_toml_file_keeps_its_comments(shell: Shell) -> None:
    file = shell.home / ".codex/config.toml"
    file.parent.mkdir()
    file.write_text('model = "x" # chosen\n\n[mcp_servers.other]\ncommand = "y"\n# the end\n')
    shell("mcp", "install", "--client", "codex").ok()
    text = file.read_text()
    assert text.startswith('model = "x" # chosen\n\n[mcp_servers.other]\ncommand = "y"\n# the end\n')
    assert servers(file, "codex") == {"other": {"command": "y"}, "metier": ENTRY}


def test_codex_and_claude_may_keep_their_files_elsewhere(shell: Shell) -> None:
    elsewhere = shell.home / "elsewhere"
    variables: Any = {"CODEX_HOME": str(elsewhere), "CLAUDE_CONFIG_DIR": str(elsewhere)}
    shell("mcp", "install", "--client", "codex", "--client", "claude-code", **variables).ok()
    assert sorted(each.name for each in elsewhere.iterdir()) == [".claude.json", "config.toml"]


def test_a_dry_run_shows_the_change_and_writes_nothing(shell: Shell) -> None:
    file = shell.project / ".mcp.json"
    file.write_text('{\n  "mcpServers": {}\n}\n')
    before = shell.tree(shell.project)
    ran = shell("mcp", "install", "--client", "claude-code", "--project", "--dry-run").ok()
    assert '  +    "metier": {\n' in ran.out
    assert shell.tree(shell.project) == before
    assert not shell.metier.exists()


def test_a_file_behind_a_link_is_changed_where_it_is(shell: Shell) -> None:
    real = shell.home / "dotfiles.json"
    real.write_text("{}\n")
    (shell.home / ".claude.json").symlink_to(real)
    shell("mcp", "install", "--client", "claude-code").ok()
    assert (shell.home / ".claude.json").is_symlink()
    assert "metier" in real.read_text()


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ('{"mcpServers": ', 2, "not JSON: line 1"),
        ('{"mcpServers": {"metier": {"command": "/usr/bin/other"}}}', 6, "is not metier"),
        ('{"mcpServers": {"metier": {"url": "https://example.com"}}}', 6, "is not metier"),
        ("[]", 2, "not JSON"),
        ("\xff", 2, "not UTF-8"),
    ],
)
def test_a_file_that_is_broken_or_foreign_is_left_alone(shell: Shell, text: str, code: int, part: str) -> None:
    file = shell.home / ".claude.json"
    file.write_bytes(text.encode("latin-1"))
    # The other file is sound, and must not be written either: all or none.
    shell("mcp", "install", "--client", "cursor", "--client", "claude-code").failed(code, part)
    assert file.read_bytes() == text.encode("latin-1")
    assert os.listdir(shell.home) == [".claude.json"]


def test_a_wrong_name_or_client_is_one_sentence(shell: Shell) -> None:
    shell("mcp", "install", "--client", "emacs").failed(2)
    shell("mcp", "install").failed(2)
    shell("mcp", "install", "--client", "cursor", "--name", "My Server").failed(2, "is not a server name")


def test_two_at_once_leave_both_clients_right(shell: Shell) -> None:
    words = [("mcp", "install", "--client", "claude-code", "--name", f"metier-{number}") for number in range(6)]
    running = [shell.start(*each) for each in words]
    codes = []
    for process in running:
        process.communicate(timeout=60)
        codes.append(process.returncode)
    # A process that sees the file change meanwhile reports it and writes nothing.
    assert set(codes) <= {0, 6}
    written = servers(shell.home / ".claude.json", "claude-code")
    assert len(written) == codes.count(0) >= 1
