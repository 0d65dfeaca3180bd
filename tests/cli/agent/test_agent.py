"""`metier agent`, as a person types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.shell import Shell
from metier.testing import skill_folder


@pytest.fixture
def agent_shell(shell: Shell) -> Shell:
    """A shell with an agent that has two skills."""
    shell.skill("pdf")
    shell.skill("zip")
    (shell.project / "instructions.md").write_text("You work for {{team}}.\n")
    shell("agent", "create", "clerk", "--model", "gpt-5", "--provider", "openai", "--skills", "pdf,zip",
          "--instructions", "instructions.md", "--var", "team=accounts").ok()  # fmt: skip
    return shell


def test_an_agent_is_a_file_that_a_person_can_read(agent_shell: Shell) -> None:
    text = (agent_shell.metier / "agents/clerk/agent.toml").read_text()
    assert 'model = "openai:gpt-5"' in text
    assert agent_shell("agent", "show", "clerk").ok().out == text
    row = agent_shell("agent", "show", "clerk", "--json").data
    assert (row["version"], row["skills"], row["variables"]) == (1, ["pdf", "zip"], {"team": "accounts"})
    assert [each["name"] for each in agent_shell("agent", "list", "--json").data["agents"]] == ["clerk"]


def test_nothing_is_made_of_bad_input(shell: Shell) -> None:
    shell.skill("pdf")
    shell("agent", "create", "Clerk").failed(2, "not a valid agent name")
    shell("agent", "create", "clerk", "--skills", "pfd").failed(3, "'pfd'", "did you mean 'pdf'?")
    shell("agent", "create", "clerk", "--skills", "what:ever").failed(3, "what")
    shell("agent", "create", "clerk", "--provider", "openai").failed(2, "--model")
    shell("agent", "create", "clerk", "--provider", "openai", "--model", "anthropic:x").failed(2, "anthropic")
    shell("agent", "create", "clerk", "--instructions", "none.md").failed(3, "none.md")
    (shell.project / "instructions.md").write_text("{{who}}")
    shell("agent", "create", "clerk", "--instructions", "instructions.md").failed(2, "{{who}}", "--var who=VALUE")
    assert shell("agent", "list").ok().out.startswith("No agents")


def test_instructions_may_be_piped_in(shell: Shell) -> None:
    (shell.project / "in").write_text("Be brief.")
    shell("agent", "create", "clerk", "--instructions", "-", stdin=str(shell.project / "in")).ok()
    assert shell("agent", "show", "clerk", "--json").data["instructions"] == "Be brief."


def test_changes_are_versions_that_can_be_compared_and_undone(agent_shell: Shell) -> None:
    assert "v2" in agent_shell("agent", "edit", "clerk", "--model", "ollama:llama").ok().out
    agent_shell("agent", "skill", "remove", "clerk", "zip").ok()
    versions = agent_shell("agent", "history", "clerk", "--json").data["versions"]
    assert [(each["version"], each["change"]) for each in versions] == [
        (3, "removed zip"), (2, "changed model"), (1, "created"),
    ]  # fmt: skip
    diff = agent_shell("agent", "diff", "clerk", "1", "2", "--json").data
    assert diff["changed"] == ["model"]
    assert '+model = "ollama:llama"' in agent_shell("agent", "diff", "clerk", "1").ok().out
    agent_shell("agent", "rollback", "clerk", "1").ok()
    assert agent_shell("agent", "show", "clerk", "--json").data["skills"] == ["pdf", "zip"]
    agent_shell("agent", "show", "clerk", "--version", "v1").ok()
    agent_shell("agent", "rollback", "clerk", "9").failed(3, "no version 9", "1 to 4")
    assert agent_shell("agent", "show", "clerk", "--version", "2", "--json").data["model"] == "ollama:llama"


def test_skills_are_added_and_removed(agent_shell: Shell) -> None:
    agent_shell.skill("csv")
    agent_shell("agent", "skill", "add", "clerk", "csv").ok()
    assert [row["ref"] for row in agent_shell("agent", "skill", "list", "clerk", "--json").data["skills"]] == [
        "pdf",
        "zip",
        "csv",
    ]
    agent_shell("agent", "skill", "add", "clerk", "nope").failed(3, "no skill is named 'nope'")
    agent_shell("agent", "skill", "remove", "clerk", "nope").failed(3, "does not have the skill 'nope'", "pdf, zip, csv")
    last = agent_shell("agent", "skill", "remove", "clerk", "csv", "pdf", "zip")
    assert (last.code, "--skills ''` allows every skill" in last.err) == (0, True)
    assert agent_shell("agent", "skill", "list", "clerk").ok().out == "No skills\n"
    assert agent_shell("agent", "show", "clerk", "--json").data["skills"] == []
    agent_shell("agent", "edit", "clerk", "--skills", "").ok()
    assert agent_shell("agent", "show", "clerk", "--json").data["skills"] is None
    agent_shell("agent", "skill", "remove", "clerk", "pdf").failed(3, "may use every skill", "--skills")


def test_an_agent_may_have_no_skills(agent_shell: Shell) -> None:
    agent_shell("agent", "create", "plain", "--no-skills").ok()
    data = agent_shell("run", "--agent", "plain", "fill in the pdf", "--json").data
    assert (data["status"], data["selected"], data["active"]) == ("preview", [], [])
    agent_shell("agent", "create", "both", "--no-skills", "--skills", "pdf").failed(2, "contradict")


def test_adding_a_skill_twice_says_so(agent_shell: Shell) -> None:
    assert agent_shell("agent", "skill", "add", "clerk", "pdf").ok().out == "Agent clerk already has pdf (v1)\n"


def test_a_skill_that_was_added_by_ref_is_removed_by_name(agent_shell: Shell, tmp_path: Path) -> None:
    elsewhere = skill_folder(tmp_path / "elsewhere", "csv")
    agent_shell("agent", "skill", "add", "clerk", str(elsewhere)).ok()
    agent_shell("agent", "skill", "remove", "clerk", "csv").ok()
    assert agent_shell("agent", "show", "clerk", "--json").data["skills"] == ["pdf", "zip"]


def test_a_model_without_a_provider_is_refused_at_once(agent_shell: Shell) -> None:
    agent_shell("agent", "create", "old", "--model", "tiny").failed(2, "'tiny' has no provider", "--model openai:tiny")
    agent_shell("agent", "show", "old").failed(3, "unknown agent 'old'")
    agent_shell("agent", "edit", "clerk", "--model", "llama3").failed(2, "--model ollama:llama3")
    agent_shell("agent", "create", "own", "--model", "gpt-4", "--base-url", "http://127.0.0.1:9/v1").ok()
    agent_shell("agent", "create", "new", "--model", "gpt-4", "--provider", "openai").ok()


def test_a_model_that_only_one_provider_has_needs_no_provider(agent_shell: Shell) -> None:
    agent_shell("agent", "create", "reviewer", "--skills", "pdf,zip", "--model", "gpt-4").ok()
    agent_shell("agent", "edit", "reviewer", "--model", "claude-x").ok()


def test_a_missing_skill_is_reported_and_never_skipped_silently(agent_shell: Shell) -> None:
    agent_shell("skill", "delete", "zip", "--yes")
    agent_shell("skill", "disable", "pdf").ok()
    assert "✗ zip" in agent_shell("agent", "skill", "list", "clerk").ok().out
    ran = agent_shell("run", "--agent", "clerk", "fill in the form")
    assert (ran.code, "openai:gpt-5 needs an API key" in ran.err) == (4, True)
    assert "warning: the agent's skill 'zip' is not installed" in ran.err
    assert "warning: the agent's skill 'pdf' is disabled" in ran.err


def test_a_ref_is_installed_when_it_is_not_here_yet(agent_shell: Shell, tmp_path: Path) -> None:
    elsewhere = skill_folder(tmp_path / "elsewhere", "csv")
    agent_shell("agent", "skill", "add", "clerk", str(elsewhere)).ok()
    assert agent_shell("agent", "skill", "list", "clerk", "--json").data["skills"][-1]["names"] == ["csv"]
    assert agent_shell.listed()["csv"] == "enabled"
    agent_shell("agent", "skill", "add", "clerk", str(tmp_path / "nowhere")).failed(3, "nowhere")


def test_an_agent_travels(agent_shell: Shell) -> None:
    agent_shell("agent", "edit", "clerk", "--model", "ollama:llama").ok()
    agent_shell("agent", "export", "clerk", "--history", "-o", "clerk.json").ok()
    agent_shell("agent", "export", "clerk", "-o", "clerk.json").failed(6, "already exists")
    agent_shell("agent", "import", "clerk.json").failed(6, "--name")
    agent_shell("agent", "import", "clerk.json", "--name", "second").ok()
    assert len(agent_shell("agent", "history", "second", "--json").data["versions"]) == 2
    one = agent_shell("agent", "export", "clerk").ok().out
    (agent_shell.project / "one.toml").write_text(one)
    agent_shell("agent", "import", "one.toml", "--force").ok()
    (agent_shell.project / "bad.json").write_text(json.dumps({"metier-agent": 2, "versions": []}))
    agent_shell("agent", "import", "bad.json").failed(2, "not an exported agent")
    (agent_shell.project / "bad.toml").write_text("name = ")
    agent_shell("agent", "import", "bad.toml").failed(2, "bad.toml:1")


def test_deleting_asks_first(agent_shell: Shell) -> None:
    agent_shell("agent", "delete", "clerk").failed(2, "--yes")
    agent_shell("agent", "delete", "clerk", "--yes").ok()
    agent_shell("agent", "show", "clerk").failed(3, "unknown agent 'clerk'")
    assert not (agent_shell.metier / "agents/clerk").exists()


def test_an_editor_changes_an_agent(agent_shell: Shell) -> None:
    editor = agent_shell.install("my-editor", "/bin/sed -i 's/gpt-5/gpt-6/' \"$1\"")
    agent_shell("agent", "edit", "clerk", EDITOR=str(editor)).ok()
    assert agent_shell("agent", "show", "clerk", "--json").data["model"] == "openai:gpt-6"
    same = agent_shell.install("no-editor", "exit 0")
    assert "is unchanged" in agent_shell("agent", "edit", "clerk", EDITOR=str(same)).ok().out
    agent_shell("agent", "edit", "clerk").failed(2, "--model")


def test_an_edit_that_meets_another_loses_neither(agent_shell: Shell) -> None:
    meanwhile = (
        f"HOME={agent_shell.home} METIER_HOME={agent_shell.metier} {{metier}} agent edit clerk --model openai:theirs >/dev/null"
    )
    from cli.shell import METIER

    editor = agent_shell.install("slow-editor", meanwhile.format(metier=METIER) + "\n/bin/sed -i 's/gpt-5/mine/' \"$1\"")
    agent_shell("agent", "edit", "clerk", EDITOR=str(editor)).failed(6, "model of agent 'clerk' changed in the meantime")
    assert agent_shell("agent", "show", "clerk", "--json").data["model"] == "openai:theirs"
    assert "mine" in (agent_shell.metier / "agents/clerk/.draft.toml").read_text()
