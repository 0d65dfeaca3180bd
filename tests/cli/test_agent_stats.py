"""`metier stats` over the transcripts of other agents."""

from __future__ import annotations

from builders import write_skill
from cli.shell import Shell, escapes
from transcript_files import claude_session, codex_session

PERIOD = ("--since", "2026-10-20")


def test_loads_unused_skills_and_catalogs_are_shown(shell: Shell) -> None:
    write_skill(shell.home / ".claude" / "skills", "pdf-forms")
    write_skill(shell.home / ".claude" / "skills", "never-used")
    claude_session(shell.home, "c1", ["fill the form"], loads=["pdf-forms", "pdf-forms"])
    codex_session(shell.home, "x1", ["fill it"], command="cat /s/pdf-forms/SKILL.md")
    out = shell("stats", *PERIOD).ok().out
    assert "In your agents  2 sessions, 2 requests" in out
    assert "  3 x  " in out
    assert "claude-code 2, codex 1" in out
    assert "Never loaded: never-used\n" in out
    assert "Catalog of claude-code: 2 skills, about " in out
    data = shell("stats", *PERIOD, "--json").data["agents"]
    assert data["skills"]["pdf-forms"]["loads"] == 3
    assert data["skills"]["pdf-forms"]["last"].startswith("2026-11-01T12:00:00")
    assert data["never_loaded"] == {"never-used": ["claude-code"]}


def test_agents_and_periods_are_chosen(shell: Shell) -> None:
    claude_session(shell.home, "c1", ["fill the form"], loads=["pdf-forms"])
    codex_session(shell.home, "x1", ["fill it"], command="cat /s/csv-charts/SKILL.md")
    chosen = shell("stats", *PERIOD, "--agent", "codex", "--json").data["agents"]
    assert list(chosen["skills"]) == ["csv-charts"]
    assert "pdf-forms" not in shell("stats", *PERIOD, "--agent", "codex").ok().out
    assert shell("stats", "--since", "1h", "--json").data["agents"]["skills"] == {}
    shell("stats", "--since", "soon").failed(2, "'soon' is not a period", "30d")
    shell("stats", "--own", "--agent", "codex").failed(2, "cannot be used together")


def test_transcripts_are_not_read_if_the_user_says_so(shell: Shell) -> None:
    claude_session(shell.home, "c1", ["fill the form"], loads=["pdf-forms"])
    assert "agents" not in shell("stats", *PERIOD, "--own", "--json").data
    assert shell("stats", *PERIOD, METIER_STATS_TRANSCRIPTS="false").ok().out.startswith("No usage")
    assert not (shell.metier / "cache" / "transcripts.sqlite").exists()


def test_the_cache_follows_changes_and_forgets_deleted_sessions(shell: Shell) -> None:
    file = claude_session(shell.home, "c1", ["a very private request"], loads=["pdf-forms"])
    cache = shell.metier / "cache" / "transcripts.sqlite"
    for _ in range(2):
        assert shell("stats", *PERIOD, "--json").data["agents"]["skills"]["pdf-forms"]["loads"] == 1
    assert b"a very private request" in cache.read_bytes()
    assert cache.stat().st_mode & 0o077 == 0
    claude_session(shell.home, "c1", ["a very private request"], loads=["pdf-forms", "pdf-forms"], time=1)
    assert shell("stats", *PERIOD, "--json").data["agents"]["skills"]["pdf-forms"]["loads"] == 2
    file.unlink()
    assert shell("stats", *PERIOD, "--json").data["agents"]["skills"] == {}
    assert b"a very private request" not in cache.read_bytes()
    claude_session(shell.home, "c2", ["x"], loads=["pdf-forms"])
    cache.write_bytes(b"not a database at all, but long enough to be one" * 50)
    assert shell("stats", *PERIOD, "--json").data["agents"]["skills"]["pdf-forms"]["loads"] == 1


def test_hostile_transcripts_reach_no_terminal(shell: Shell) -> None:
    hostile = "\x1b]0;owned\x07\x1b[31m fill the PDF form \u202e"
    write_skill(
        shell.home / ".claude" / "skills", "pdf-forms", description="Fills in PDF forms. Use when a PDF form is to fill."
    )
    claude_session(shell.home, "c1\x1b[2J", [hostile], loads=["x\x1b[31m"], commands=["\x1b[2Jrm"], more=["{half"])
    learn = ("skill", "learn", "--last", "--name", "learned", "--dir", "drafts")
    for words in (("stats", *PERIOD), ("skill", "missed", *PERIOD), learn):
        _, text = shell.on_terminal(*words)
        assert "\x1b]" not in text
        assert list(escapes(text)) == []
    assert "\x1b" not in (shell.project / "drafts" / "learned" / "SKILL.md").read_text()
