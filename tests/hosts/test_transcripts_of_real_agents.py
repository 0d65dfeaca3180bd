"""Transcripts that real agents write: each program runs with a scripted model, and metier reads what it left on the disk."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_programs import AgentHome
from metier.hosts.transcripts import (
    StepKind,
    ToolStep,
    Transcript,
    find_transcripts,
    summarize_transcript,
    transcript_events,
)
from metier.testing import ModelAnswer, ModelRequest, ModelServer, calls, says

FITTING, UNRELATED = "fill in the fields of this PDF form for me", "why is the sky blue at noon?"
AGAIN = "please fill the fields of another PDF form"
SECRET_COMMAND = "echo filled --token hunter2hunter2"
FOLDERS = {
    "claude-code": ".claude/skills",
    "codex": ".agents/skills",
    "gemini-cli": ".gemini/skills",
    "opencode": ".config/opencode/skills",
}
# The programs ask before they run a command; without a terminal they refuse.
OPTIONS = {
    "claude-code": ("--allowedTools", "Bash", "Skill"),
    "codex": ("--dangerously-bypass-approvals-and-sandbox",),
    "gemini-cli": ("--yolo",),
    "opencode": (),
}
TOOLS = {
    "claude-code": ("Bash", "command"),
    "codex": ("exec_command", "cmd"),
    "gemini-cli": ("run_shell_command", "command"),
    "opencode": ("bash", "command"),
}


class Script:
    """Loads the skill for the first request, runs a command, and answers; other requests are only answered."""

    def __init__(self, agent: str, file: Path) -> None:
        tool, key = TOOLS[agent]
        self._command = calls(tool, **{key: SECRET_COMMAND, "description": "Fill"})
        name = file.parent.name
        self._load = {
            "claude-code": calls("Skill", skill=name),
            "codex": calls(tool, **{key: f"cat {file}"}),
            "gemini-cli": calls("activate_skill", name=name),
            "opencode": calls("skill", name=name),
        }[agent]

    def __call__(self, request: ModelRequest) -> ModelAnswer:
        if FITTING not in json.dumps(request.body) or not request.tools:
            return says("Done.")
        return [self._load, self._command, says("The form is filled in.")][min(2, len(request.results))]


@pytest.fixture(params=FOLDERS)
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AgentHome]:
    agent = request.param
    skills = tmp_path / FOLDERS[agent]
    for name, description in {
        "pdf-forms": "Fills in PDF forms. Use when the user has a PDF form with fields to fill.",
        "csv-charts": "Draws charts from CSV files. Use when the user wants a chart of a table.",
    }.items():
        (skills / name).mkdir(parents=True)
        (skills / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n# {name}\n")
    with ModelServer(Script(agent, skills / "pdf-forms" / "SKILL.md")) as model:
        yield AgentHome(agent, tmp_path, model, options=OPTIONS[agent])


def metier(home: AgentHome, *words: str) -> dict[str, Any]:
    command = [str(Path(sys.executable).parent / "metier"), *words, "--json"]
    done = subprocess.run(command, cwd=home.project, env=home.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    data: dict[str, Any] = json.loads(done.stdout)["data"]
    return data


def transcripts(home: AgentHome) -> dict[str, Transcript]:
    files = find_transcripts(str(home.folder), home.environment, agents=[home.agent])
    found = [summarize_transcript(file, transcript_events(file)) for file in files]
    return {one.requests[0].text: one for one in found}


def test_requests_loads_and_commands_of_a_real_agent_are_read(home: AgentHome) -> None:
    for prompt in (FITTING, UNRELATED, AGAIN):
        home.ask(prompt)
    found = transcripts(home)
    assert found.keys() == {FITTING, UNRELATED, AGAIN}
    filled = found[FITTING]
    assert [load.skill for load in filled.loads] == ["pdf-forms"]
    assert filled.loads[0].tokens > 0
    assert found[UNRELATED].loads == found[AGAIN].loads == ()
    for one in found.values():
        assert one.id and one.start and one.folder == str(home.project)
        assert one.input_tokens > 1000
        assert one.skipped == 0
        assert one.shown is None or {"pdf-forms", "csv-charts"} <= set(one.shown)
    assert (filled.shown is not None) == (home.agent in ("claude-code", "codex"))
    events = (event for file in find_transcripts(str(home.folder), {}) for event in transcript_events(file))
    steps = [event for event in events if isinstance(event, ToolStep)]
    assert (StepKind.COMMAND, SECRET_COMMAND, False) in [(step.kind, step.text, step.failed) for step in steps]

    usage = metier(home, "stats")["agents"]
    assert usage["skills"]["pdf-forms"]["agents"] == {home.agent: 1}
    assert "csv-charts" in usage["never_loaded"]
    missed = metier(home, "skill", "missed")["skills"]
    assert [(one["name"], [row["request"] for row in one["requests"]]) for one in missed] == [("pdf-forms", [AGAIN])]

    learned = metier(home, "skill", "learn", filled.id, "--dir", "drafts", "--name", "fill-forms")
    draft = (home.project / "drafts" / "fill-forms" / "SKILL.md").read_text()
    assert learned["problems"] == []
    assert "echo filled --token <secret>" in draft
    assert "hunter2" not in draft


def test_a_load_that_fails_in_a_real_agent_is_a_failed_load(home: AgentHome) -> None:
    file = home.folder / FOLDERS[home.agent] / "pdf-tables" / "SKILL.md"
    with ModelServer(Script(home.agent, file)) as model:
        AgentHome(home.agent, home.folder, model, options=home.options).ask(FITTING)
    (one,) = transcripts(home).values()
    assert [load.skill for load in one.failed] == ["pdf-tables"]
    assert one.failed[0].error
    assert one.loads == ()
