from __future__ import annotations

from pathlib import Path

from metier.hosts import HOST_ALIASES, HOST_VARIABLES, HOSTS, detect_hosts


def test_the_table_has_the_common_hosts() -> None:
    assert len(HOSTS) >= 75
    assert {"claude-code", "codex", "cursor", "gemini-cli", "github-copilot", "goose", "opencode", "windsurf"} <= HOSTS.keys()
    assert set(HOST_ALIASES.values()) <= HOSTS.keys()


def test_every_folder_stays_in_the_project_or_the_home() -> None:
    for host in HOSTS.values():
        assert not host.project.startswith("/")
        assert ".." not in host.project
        assert host.user is None or host.user.startswith(("~/", "~c/"))


def test_environment_variables_move_the_folders_of_hosts() -> None:
    codex, amp = HOSTS["codex"], HOSTS["amp"]
    assert codex.user_folder("/home/me", {}) == "/home/me/.codex/skills"
    assert codex.user_folder("/home/me", {"CODEX_HOME": "/opt/codex"}) == "/opt/codex/skills"
    assert amp.user_folder("/home/me", {"XDG_CONFIG_HOME": "/cfg"}) == "/cfg/agents/skills"


def test_the_list_of_variables_is_complete() -> None:
    assert set(HOST_VARIABLES) == {host.variable for host in HOSTS.values() if host.variable} | {"XDG_CONFIG_HOME"}


def test_hosts_are_detected_by_their_marker_folders(tmp_path: Path) -> None:
    for name in (".claude", ".config/opencode", "moved"):
        (tmp_path / name).mkdir(parents=True)
    assert detect_hosts(str(tmp_path), {"CODEX_HOME": str(tmp_path / "moved")}) == ("claude-code", "codex", "opencode")
