"""`metier skill missed`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import write_skill
from cli.shell import Shell
from transcript_files import claude_session

PERIOD = ("--since", "2026-10-20")
FORMS = "Fills in PDF forms. Use when the user has a PDF form with fields to fill."
REQUEST = "fill in the fields of this PDF form"


@pytest.fixture
def skill(shell: Shell) -> Path:
    claude_session(shell.home, "c1", [REQUEST, "why is the sky blue?"])
    claude_session(shell.home, "c2", ["fill the fields of a PDF form for me"], loads=["pdf-forms"])
    return write_skill(shell.home / ".claude" / "skills", "pdf-forms", description=FORMS)


def test_missed_requests_are_grouped_by_skill_with_the_reason(shell: Shell, skill: Path) -> None:
    out = shell("skill", "missed", *PERIOD).ok().out
    assert "pdf-forms  missed 1 x  claude-code 1\n" in out
    assert "  2026-11-01  9" in out and REQUEST in out
    assert "claude-code: its description fits, and the model did not load it" in out
    assert out.endswith("1 missed, 1 served of 3 requests\n")
    [row] = shell("skill", "missed", *PERIOD, "--json").data["skills"]
    assert (row["name"], row["folder"], row["missed"]) == ("pdf-forms", str(skill), 1)


def test_requests_become_evals_once(shell: Shell, skill: Path) -> None:
    shell("skill", "missed", *PERIOD, "--write-evals").failed(2, "there is no terminal", "--yes")
    assert not (skill / "evals").exists()
    out = shell("skill", "missed", *PERIOD, "--write-evals", "--yes").ok().out
    assert "Added 1 request to ~/.claude/skills/pdf-forms/evals/eval_queries.json" in out
    rows = json.loads((skill / "evals" / "eval_queries.json").read_text())
    assert rows == [{"query": REQUEST, "should_trigger": True}]
    assert "No new requests were written" in shell("skill", "missed", *PERIOD, "--write-evals", "--yes").ok().out
    shell("skill", "missed", *PERIOD, "--write-evals", "--yes", "--skill", "other").failed(3, "no missed requests")
    shell("skill", "missed", "--yes").failed(2, "need --write-evals")


def test_an_installed_skill_is_not_changed_without_a_word(shell: Shell) -> None:
    claude_session(shell.home, "c1", [REQUEST])
    source = write_skill(shell.project, "pdf-forms", description=FORMS)
    assert shell("skill", "install", str(source), "--yes", "--target", "claude-code").code == 0
    shell("skill", "missed", *PERIOD, "--write-evals", "--yes").failed(5, "was installed", "--edit-installed")
    out = shell("skill", "missed", *PERIOD, "--write-evals", "--yes", "--edit-installed").ok().out
    assert "Added 1 request" in out


def test_a_disabled_skill_is_the_reason(shell: Shell, skill: Path) -> None:
    assert skill.exists()
    shell("skill", "disable", "pdf-forms")
    [row] = shell("skill", "missed", *PERIOD, "--json").data["skills"]
    assert row["requests"][0]["reason"] == "disabled"


def test_nothing_is_read_if_the_setting_is_off(shell: Shell) -> None:
    shell("skill", "missed", METIER_STATS_TRANSCRIPTS="0").failed(4, "stats.transcripts is off", "metier config set")


def test_a_new_skill_says_which_requests_it_takes(shell: Shell, skill: Path) -> None:
    for number in range(5):
        claude_session(shell.home, f"more{number}", [f"fill in the fields of PDF form number {number}"])
    rival = write_skill(
        shell.project, "pdf-fields", description="Fills in the fields of PDF forms. Use when a PDF form has fields."
    )
    plan = shell("skill", "install", str(rival), "--dry-run", "--target", "none")
    assert plan.code == 0
    assert "pdf-fields would take " in plan.err
    assert " of your last 8 requests from pdf-forms (95 % interval " in plan.err
    ran = shell("skill", "install", str(rival), "--yes", "--target", "none")
    assert ran.code == 0
    assert "pdf-fields takes " in ran.err
    assert " of your last 8 requests from pdf-forms (95 % interval " in ran.err
    conflicts = shell("skill", "conflicts")
    assert "pdf-fields takes " in conflicts.out
    data = shell("skill", "conflicts", "--json").data["takeovers"]["requests"]
    assert data[0]["of"] == 8
    assert data[0]["interval"][0] <= data[0]["taken"] <= data[0]["interval"][1]
    shell("skill", "remove", "pdf-fields")
    write_skill(shell.project, "pdf-fields", description="Prints a calendar. Use when the user wants a calendar.")
    shell("skill", "install", str(rival), "--yes", "--target", "none")
    write_skill(shell.project, "pdf-fields", description="Fills in the fields of PDF forms. Use when a PDF form has fields.")
    planned = shell("skill", "update", "--dry-run")
    assert "pdf-fields would take " in planned.err
    assert "pdf-fields takes " in shell("skill", "update").err
    shell("skill", "remove", "pdf-fields")
    quiet = shell("skill", "install", str(rival), "--yes", "--target", "none", METIER_INSTALL_COMPARE_REQUESTS="false")
    assert "takes" not in quiet.err
    assert skill.exists()


def test_fit_counts_the_requests_after_which_a_skill_was_loaded(shell: Shell, skill: Path) -> None:
    data = shell("skill", "fit", "--agent", "claude-code", "--dry-run", "--json").data
    assert data["requests_from"] == {"evals": 0, "transcripts": 1}
    assert data["recall_before"][0] < data["found_before"] == 1
    assert skill.exists()
