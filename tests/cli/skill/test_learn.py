"""`metier skill learn`."""

from __future__ import annotations

from cli.shell import Shell
from metier.testing import ModelServer, says
from transcript_files import claude_session

ANSWER = "---\nname: x\ndescription: Packs a release. Use when the user wants to release.\n---\n# Release\n\n1. Run `make`.\n"


def test_the_last_session_becomes_an_outline(shell: Shell) -> None:
    claude_session(shell.home, "aaaa1111", ["pack the release", "no, use make"], commands=["export TOKEN=sesame12", "make"])
    claude_session(shell.home, "bbbb2222", [], time=60)
    out = shell("skill", "learn", "--last").ok().out
    assert out.startswith("✓ Created pack-release in ~/.metier/skills/pack-release\n")
    assert "from claude-code session aaaa1111. Check before you use it:" in out
    text = (shell.skills / "pack-release" / "SKILL.md").read_text()
    assert "Run `export TOKEN=<secret>`." in text
    assert '- "no, use make"' in text
    shell("skill", "validate", "pack-release").ok()
    shell("skill", "learn", "--last").failed(6, "already exists", "--name")


def test_a_session_is_named_by_the_beginning_of_its_id(shell: Shell) -> None:
    claude_session(shell.home, "aaaa1111", ["pack the release"])
    claude_session(shell.home, "aaaa2222", ["water the plants"])
    shell("skill", "learn", "aaaa").failed(3, "several sessions", "type more")
    data = shell("skill", "learn", "aaaa2", "--name", "plants", "--project", "--json").data
    assert data["folder"] == str(shell.project / ".metier" / "skills" / "plants")
    assert data["record"]["requests"] == ["water the plants"]
    shell("skill", "learn", "zzzz").failed(3, "there is no session 'zzzz'", "--last")
    shell("skill", "learn").failed(2, "name a session")
    shell("skill", "learn", "aaaa2", "--last").failed(2, "name a session")
    shell("skill", "learn", "aaaa2", "--name", "Not A Name").failed(2)


def test_the_model_of_the_settings_writes_the_draft(shell: Shell) -> None:
    claude_session(shell.home, "aaaa1111", ["pack the release"], commands=["export TOKEN=sesame12"])
    with ModelServer([says(ANSWER)]) as server:
        words = ("skill", "learn", "--last", "--name", "release", "--json")
        data = shell(*words, METIER_MODEL_NAME="tiny", METIER_MODEL_BASE_URL=server.url, OPENAI_API_KEY="any").data
        assert "sesame12" not in str(server.requests[0].body)
    assert data["model"] == "tiny"
    assert "Run `make`" in (shell.skills / "release" / "SKILL.md").read_text()


def test_a_conversation_with_metier_is_a_session_too(shell: Shell) -> None:
    with ModelServer([says("Watered.")]) as server:
        shell("run", "water the plants", METIER_MODEL_NAME="tiny", METIER_MODEL_BASE_URL=server.url, OPENAI_API_KEY="any")
    data = shell("skill", "learn", "--last", "--offline", "--json").data
    assert data["session"].startswith("conversation ")
    assert data["record"]["requests"] == ["water the plants"]


def test_without_sessions_there_is_nothing_to_learn(shell: Shell) -> None:
    shell("skill", "learn", "--last").failed(3, "there is no session with a request")
