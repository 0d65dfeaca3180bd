from __future__ import annotations

from pathlib import Path

import pytest

from install.builders import scope_in
from metier.cli.core.listing_cache import AGENT_VARIABLES
from metier.errors import UsageError
from metier.hosts.known_hosts import ALIASES, HOSTS
from metier.install.targets.agent_visibility import AgentVisibility
from metier.install.targets.scope import InstallScope, ScopeLevel, detected_hosts, read_targets


def test_the_table_has_the_agents_that_people_use() -> None:
    assert len(HOSTS) >= 75
    assert {"claude-code", "codex", "cursor", "gemini-cli", "github-copilot", "goose", "opencode", "windsurf"} <= HOSTS.keys()
    assert set(ALIASES.values()) <= HOSTS.keys()


def test_every_folder_stays_in_the_project_or_the_home() -> None:
    for client in HOSTS.values():
        assert not client.project.startswith("/")
        assert ".." not in client.project
        assert client.user is None or client.user.startswith(("~/", "~c/"))


def test_variables_move_the_folders_of_agents() -> None:
    codex, amp = HOSTS["codex"], HOSTS["amp"]
    assert codex.user_folder("/home/me", {}) == "/home/me/.codex/skills"
    assert codex.user_folder("/home/me", {"CODEX_HOME": "/opt/codex"}) == "/opt/codex/skills"
    assert amp.user_folder("/home/me", {"XDG_CONFIG_HOME": "/cfg"}) == "/cfg/agents/skills"


def test_a_remembered_listing_knows_every_variable_that_moves_an_agent() -> None:
    assert set(AGENT_VARIABLES) == {client.variable for client in HOSTS.values() if client.variable} | {"XDG_CONFIG_HOME"}


def test_agents_are_detected_by_what_they_leave_behind(tmp_path: Path) -> None:
    for name in (".claude", ".config/opencode", "moved"):
        (tmp_path / name).mkdir(parents=True)
    assert detected_hosts(str(tmp_path), {"CODEX_HOME": str(tmp_path / "moved")}) == ("claude-code", "codex", "opencode")


def test_names_are_read_as_people_type_them(tmp_path: Path) -> None:
    (tmp_path / "home/.cursor").mkdir(parents=True)
    scope = scope_in(tmp_path)
    assert read_targets(["codex, claude", "metier"], scope) == ("claude-code", "codex")
    assert read_targets(["all-detected"], scope) == ("cursor",)
    assert read_targets([""], scope) == ()


@pytest.mark.parametrize(("word", "hint"), [("claude-cod", "claude-code"), ("zzz", "one of: ")])
def test_an_unknown_agent_is_refused_with_a_suggestion(word: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_targets([word], scope_in(tmp_path))
    assert hint in caught.value.hint


def test_an_agent_without_a_folder_at_home_is_for_projects(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="eve has no folder"):
        read_targets(["eve"], scope_in(tmp_path))
    assert read_targets(["eve"], scope_in(tmp_path, ScopeLevel.PROJECT)) == ("eve",)


def test_a_project_never_reaches_into_the_home(tmp_path: Path) -> None:
    scope: InstallScope = scope_in(tmp_path, ScopeLevel.PROJECT)
    assert all(folder.startswith(f"{tmp_path}/project/") for folder in scope.parents)


def test_agents_see_what_is_in_their_folder_and_what_it_links_to(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    for folder in (".claude/skills", ".codex", ".agents/skills/pdf"):
        (home / folder).mkdir(parents=True)
    (project / ".agents/skills/own").mkdir(parents=True)
    (home / ".claude/skills/pdf").symlink_to("../../.agents/skills/pdf")
    sight = AgentVisibility(str(home), str(project), {})
    assert sight.of(str(home / ".agents/skills/pdf")) == ("claude-code",)
    assert sight.of(str(project / ".agents/skills/own")) == ("codex",)
    assert sight.of(str(home / "nowhere")) == ()
