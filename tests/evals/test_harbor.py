"""The export for Harbor: its own loader reads the tasks, and their tests give the right reward."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evals.authors import author_skill, entry_of
from metier.errors import ConflictError, NotFoundError
from metier.evals import export_harbor
from metier.evals.harbor_check import main as loaded

QUERIES = [
    {"query": "fill in this PDF form", "should_trigger": True},
    {"query": "why is the sky blue?", "should_trigger": False},
]
CASES = {
    "skill_name": "pdf-forms",
    "evals": [
        {"id": 1, "name": "Fill it", "prompt": "Fill in form.txt.", "files": ["data/form.txt"], "assertions": [
            {"text": "it is filled", "command": "evals/check.py form.txt Ada"}, "the answer says so"]},
        {"id": 2, "name": "Explain it", "prompt": "Explain the form.", "expected_output": "an explanation"},
    ],
}  # fmt: skip
CHECK = "import os, sys\nsys.exit(0 if sys.argv[2] in open(os.path.join(os.environ['OUTPUTS'], sys.argv[1])).read() else 1)\n"


def skill(root: Path) -> Path:
    files = {
        "evals/eval_queries.json": json.dumps(QUERIES),
        "evals/evals.json": json.dumps(CASES),
        "evals/check.py": CHECK,
        "data/form.txt": "name: \n",
    }
    return author_skill(root, "pdf-forms", "Fills in PDF forms. Use when the user has a PDF form.", files=files)


def test_each_eval_is_a_task_and_what_cannot_be_checked_is_named(tmp_path: Path) -> None:
    done = export_harbor([entry_of(skill(tmp_path / "skills"))], str(tmp_path / "tasks"))
    triggers = [name for name in done.tasks if name.startswith("pdf-forms-trigger-")]
    assert (len(triggers), done.tasks[2:]) == (2, ("pdf-forms-fill-it",))
    assert done.left_out == ("pdf-forms/explain-it: no assertion has a command, and Harbor has no grader for the others",)
    task = tmp_path / "tasks" / "pdf-forms-fill-it"
    assert (task / "instruction.md").read_text() == "Fill in form.txt.\n"
    assert (task / "environment/inputs/form.txt").exists()
    assert not (task / "environment/skills/pdf-forms/evals").exists()
    with pytest.raises(ConflictError, match="is not empty"):
        export_harbor([entry_of(tmp_path / "skills/pdf-forms")], str(tmp_path / "tasks"))


def test_a_skill_without_evals_writes_nothing(tmp_path: Path) -> None:
    folder = author_skill(tmp_path / "skills", "plain", "Does it. Use when asked.")
    with pytest.raises(NotFoundError, match="no evals that Harbor can check"):
        export_harbor([entry_of(folder)], str(tmp_path / "tasks"))
    assert not (tmp_path / "tasks").exists()


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ({"function_name": "Skill", "arguments": {"skill": "pdf-forms"}}, 0),
        ({"type": "tool_use", "name": "activate_skill", "parameters": {"name": "pdf-forms"}}, 0),
        ({"item": {"type": "command_execution", "command": "cat /home/user/.agents/skills/pdf-forms/SKILL.md"}}, 0),
        ({"tool": "skill", "state": {"input": {"name": "pdf-forms"}}}, 0),
        ({"function_name": "Skill", "arguments": {"skill": "pdf-forms-2"}}, 1),
        ({"text": "I could read /skills/pdf-forms/SKILL.md"}, 1),
    ],
)
def test_the_check_reads_the_logs_of_agents(tmp_path: Path, line: object, status: int) -> None:
    (tmp_path / "log.jsonl").write_text(f"starting\n{json.dumps(line)}\n")
    assert loaded("pdf-forms", str(tmp_path)) == status


def test_no_log_is_neither_yes_nor_no(tmp_path: Path) -> None:
    assert loaded("pdf-forms", str(tmp_path)) == 2


def test_harbors_own_loader_takes_every_task(tmp_path: Path) -> None:
    python = os.environ.get("HARBOR_PYTHON", sys.executable)
    known = subprocess.run([python, "-c", "import harbor"], capture_output=True, check=False)
    if known.returncode:
        pytest.skip("harbor is not installed (pip install harbor in Python 3.12 or later; HARBOR_PYTHON names that Python)")
    export_harbor([entry_of(skill(tmp_path / "skills"))], str(tmp_path / "tasks"))
    code = (
        "import json, pathlib, sys\nfrom harbor.models.task.task import Task\n"
        "folders = sorted(pathlib.Path(sys.argv[1]).iterdir())\n"
        "assert all(Task.is_valid_dir(folder) for folder in folders)\n"
        "tasks = [Task(folder) for folder in folders]\n"
        "print(json.dumps([[task.name, task.instruction, task.config.environment.skills_dir] for task in tasks]))\n"
    )
    done = subprocess.run([python, "-c", code, str(tmp_path / "tasks")], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert ["metier/pdf-forms-fill-it", "Fill in form.txt.\n", "/skills"] in found
    assert {row[1] for row in found} == {"Fill in form.txt.\n", *(f"{query['query']}\n" for query in QUERIES)}
