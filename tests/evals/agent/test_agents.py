"""Trigger evals in the real programs, in the sandbox, with a scripted model; recorded, and replayed without it."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from evals.agent.scripted_agents import QUERIES, forms_skill, loads_for, runner_of
from evals.authors import author_skill, entry_of
from metier.errors import UnavailableError
from metier.evals import (
    AgentTriggerJudge,
    NotRecordedError,
    TriggerReport,
    open_recording,
    read_queries,
    run_triggers,
    start_recording,
    wilson_interval,
)
from metier.evals.agent.conversation import TurnKind
from metier.evals.agent.runs import AgentRunner
from metier.hosts import HEADLESS_AGENTS
from metier.sources import DiskFiles
from metier.testing import ModelRequest, ModelServer, calls, run_now, says


def evaluate(runner: AgentRunner, folder: Path, runs: int = 3) -> TriggerReport:
    judge = AgentTriggerJudge(runner, entry_of(folder))
    return run_now(run_triggers("pdf-forms", read_queries(DiskFiles(folder)), judge, runs=runs, at_once=2))


@pytest.mark.parametrize("agent", HEADLESS_AGENTS)
def test_the_rates_are_those_of_the_program_and_a_recording_gives_the_same_without_a_model(agent: str, tmp_path: Path) -> None:
    folder = forms_skill(tmp_path / "skills")
    with ModelServer(loads_for("this PDF form")) as server:
        recording = start_recording(str(tmp_path / "answers"), {"agent": agent})
        report = evaluate(runner_of(agent, server, recording), folder)
        keys = [request.headers.get(HEADLESS_AGENTS[agent].key_header, "") for request in server.requests]
    # Two of three runs decide, so the third is left out.
    assert [(row.triggers, row.runs, row.passed) for row in report.rows] == [(2, 2, True), (0, 2, False), (0, 2, True)]
    assert report.rows[0].interval == wilson_interval(2, 2)
    assert report.triggered(should=True) == (1, 2)
    assert report.tokens > 0
    assert all("secret-of-the-user" in key for key in keys)
    kept = "".join(file.read_text() for file in (tmp_path / "answers").rglob("*.json"))
    assert "secret-of-the-user" not in kept

    again = evaluate(runner_of(agent, None, open_recording(str(tmp_path / "answers"), agent=agent)), folder)
    assert [(row.triggers, row.runs) for row in again.rows] == [(row.triggers, row.runs) for row in report.rows]

    changed = forms_skill(
        tmp_path / "changed", {"evals/eval_queries.json": json.dumps([*QUERIES[:1], {**QUERIES[1], "query": "a new one"}])}
    )
    with pytest.raises(NotRecordedError, match=r"no answer to a request: .*a new one"):
        evaluate(runner_of(agent, None, open_recording(str(tmp_path / "answers"), agent=agent)), changed, runs=1)


def test_the_interval_ends_a_long_series(tmp_path: Path) -> None:
    folder = forms_skill(tmp_path / "skills", {"evals/eval_queries.json": json.dumps(QUERIES[:1])})
    with ModelServer(loads_for("this PDF form")) as server:
        report = evaluate(runner_of("claude-code", server), folder, runs=20)
    assert (report.rows[0].triggers, report.rows[0].runs) == (4, 4)
    assert report.rows[0].interval == wilson_interval(4, 4)


def test_a_program_in_the_sandbox_sees_neither_files_nor_servers_of_this_machine_nor_the_key(tmp_path: Path) -> None:
    folder = forms_skill(tmp_path / "skills")
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret of this machine")
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    reach = f"(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo reached-{port - 1}"
    command = "; ".join([f"cat {secret}", reach, "env", "ls ~/.claude/skills/pdf-forms", "echo done > out.txt"])

    def script(request: ModelRequest) -> object:
        return says("Done.") if request.results else calls("Bash", command=command, description="look around")

    outputs = tmp_path / "outputs"
    outputs.mkdir()
    with listener, ModelServer(script) as server:  # type: ignore[arg-type]  # both are answers
        done = run_now(runner_of("claude-code", server).run("look around", skills=[entry_of(folder)], outputs=str(outputs)))
    (seen,) = [turn.text for turn in done.turns if turn.kind is TurnKind.RESULT]
    assert "No such file" in seen
    assert "the secret" not in seen.replace(command, "")
    assert f"reached-{port - 1}" not in seen
    assert "secret-of-the-user" not in seen
    assert "SKILL.md" in seen
    assert "\nevals" not in seen
    assert [file.name for file in outputs.iterdir()] == ["out.txt"]


def test_another_skill_that_was_loaded_is_named(tmp_path: Path) -> None:
    folder = forms_skill(tmp_path / "skills")
    other = author_skill(tmp_path / "skills", "pdf-pages", "Splits PDF files. Use when the user has a PDF.")

    def script(request: ModelRequest) -> object:
        return says("Done.") if request.results else calls("Skill", skill="pdf-pages")

    with ModelServer(script) as server:  # type: ignore[arg-type]  # both are answers
        judge = AgentTriggerJudge(runner_of("claude-code", server), entry_of(folder), [entry_of(other)])
        choice = run_now(judge("fill in this form"))
    assert (choice.triggered, choice.winner, choice.own) == (False, "pdf-pages", "not loaded; loaded pdf-pages")


def test_a_model_that_cannot_be_reached_is_an_error(tmp_path: Path) -> None:
    folder = forms_skill(tmp_path / "skills")
    server = ModelServer()
    server.close()
    with pytest.raises(UnavailableError, match="the model's server did not answer"):
        evaluate(runner_of("claude-code", server), folder, runs=1)
