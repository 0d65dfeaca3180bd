"""`metier skill eval --agent`, as an author types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_programs import program_file
from cli.shell import Shell
from evals.agent.scripted_agents import load, loads_for
from metier.testing import ModelAnswer, ModelRequest, ModelServer, ScriptedCall, says

DESCRIPTION = "Fills in PDF forms. Use when the user has a PDF form."
CHECK = "import os, sys\nsys.exit(0 if 'Ada' in open(os.environ['OUTPUTS'] + '/form.txt').read() else 'it is empty')\n"
TASK = {
    "name": "fill", "id": 1, "prompt": "Fill in form.txt", "files": ["data/form.txt"],
    "assertions": [{"text": "it is filled", "command": "evals/check.py"}, "it says so"],
}  # fmt: skip


def forms(shell: Shell, *, cases: bool = False) -> Path:
    folder = shell.skill("pdf-forms", description=DESCRIPTION)
    (folder / "evals").mkdir()
    queries = [
        {"query": "fill in this PDF form for me", "should_trigger": True},
        {"query": "why blue?", "should_trigger": False},
    ]
    (folder / "evals/eval_queries.json").write_text(json.dumps(queries))
    if cases:
        (folder / "data").mkdir()
        (folder / "data/form.txt").write_text("name:\n")
        (folder / "evals/check.py").write_text(CHECK)
        (folder / "evals/evals.json").write_text(json.dumps({"skill_name": "pdf-forms", "evals": [TASK]}))
    return folder


def program(shell: Shell) -> tuple[str, ...]:
    shell.environment["PATH"] = f"{shell.bin}:/usr/local/bin:/usr/bin:/bin"
    return ("--agent", "claude-code", "--program", str(program_file("claude-code")))


def test_the_rates_are_in_text_json_and_html_and_only_the_named_key_is_sent(shell: Shell) -> None:
    forms(shell)
    words = program(shell)
    shell.environment |= {"MY_KEY": "secret-of-the-user", "OTHER_KEY": "other-secret"}
    with ModelServer(loads_for("this PDF form")) as model:
        access = ("--model-url", model.root, "--key-env", "MY_KEY", "--runs", "1")
        done = shell("skill", "eval", "pdf-forms", *words, *access, "--html", "report.html", "--json")
        headers = json.dumps([dict(request.headers) for request in model.requests])
    assert done.code == 0
    report = done.data["triggers"][0]
    assert report["judge"] == "agent claude-code"
    assert [row["triggers"] for row in report["results"]] == [1, 0]
    assert report["results"][0]["interval"] == [0.207, 1.0]
    assert report["summary"]["triggered"]["should_trigger"] == {"requests": 1, "triggered": 1, "interval": [0.207, 1.0]}
    assert report["summary"]["tokens"] > 0
    assert done.data["program"]["sandbox"] is True
    assert "21% to 100%" in (shell.project / "report.html").read_text()
    assert "secret-of-the-user" in headers
    assert "other-secret" not in headers


def _fills(request: ModelRequest) -> ModelAnswer:
    """Writes the form if it has the skill."""
    if "Fill in form.txt" not in json.dumps(request.body["messages"]) or len(request.results) > 1:
        return says("Done.")
    if "Fills in PDF forms" not in json.dumps(request.body):
        return says("I cannot.")
    write = ScriptedCall("Bash", {"command": "echo 'name: Ada' > form.txt", "description": "fill"})
    return ModelAnswer(calls=(write,)) if request.results else load(request)


def test_tasks_are_done_by_the_program_with_the_skill_and_without(shell: Shell) -> None:
    forms(shell, cases=True)
    words = program(shell)
    with ModelServer(_fills) as model:
        done = shell("skill", "eval", "pdf-forms", *words, "--model-url", model.root, "--outputs", "--runs", "1", "--json")
    (report,) = done.data["outputs"]
    assert report["metadata"]["executor_model"] == "claude-code"
    assert [report["run_summary"][side]["pass_rate"]["mean"] for side in ("with_skill", "without_skill")] == [1.0, 0.0]
    assert report["run_summary"]["with_skill"]["tokens"]["mean"] > 0
    assert (shell.project / "pdf-forms-workspace/iteration-1/fill/with_skill/outputs/form.txt").read_text() == "name: Ada\n"
    assert "1 assertion without a command not graded" in str(done.envelope)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--record", "a"), 2, "--record needs --agent"),
        (("--agent", "codex", "--record", "a", "--replay", "b"), 2, "exclude each other"),
        (("--agent", "codex", "--offline"), 2, "--offline forbids"),
        (("--agent", "codex"), 4, "was not found"),
        (("--export", "harbor"), 2, "-o DIR is missing"),
        (("-o", "tasks"), 2, "--export harbor is missing"),
    ],
)
def test_options_that_do_not_fit_are_one_sentence_and_a_hint(
    shell: Shell, words: tuple[str, ...], code: int, message: str
) -> None:
    forms(shell)
    shell("skill", "eval", "pdf-forms", *words).failed(code, message)
    assert list(shell.project.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model-url", "ftp://x"), "not the address of a server"),
        (("--key-env", "NO_SUCH"), "the variable NO_SUCH is not set"),
        (("--model-url", "http://model.example", "--key-env", "MY_KEY"), "is not encrypted"),
        ((), "needs a key"),
    ],
)
def test_access_that_cannot_work_is_refused_before_anything_starts(shell: Shell, words: tuple[str, ...], message: str) -> None:
    forms(shell)
    shell.environment["MY_KEY"] = "x"
    done = shell("skill", "eval", "pdf-forms", *program(shell), *words, "--record", "answers")
    assert done.code in (2, 4, 5, 6, 1)
    assert message in done.err
    assert list(shell.project.iterdir()) == []
