"""A workspace in a real sandbox: what a script sees of the folder, and what becomes of its writes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from metier.runtime import FileChangeKind, IsolationLevel, Limits, Outcome, Runner, ScriptRun, Workspace

AVAILABLE = [found.level for found in Runner().available()]
LEVELS = [level for level in AVAILABLE if level in (IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK)]
at_every_level = pytest.mark.parametrize("level", LEVELS, ids=str)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "data").mkdir(parents=True)
    (folder / "data/sales.csv").write_text("month,amount\njan,1\n")
    (folder / "notes.txt").write_text("one\ntwo\n")
    (folder / ".env").write_text("TOKEN=canary\n")
    return folder


@pytest.fixture
def workspace(folder: Path) -> Iterator[Workspace]:
    workspace = Workspace(folder)
    yield workspace
    workspace.close()


def run(workspace: Workspace, line: str, level: IsolationLevel = LEVELS[0]) -> Outcome:
    code = ScriptRun(script="command.sh", code=line.encode(), workspace=workspace.mount(), limits=Limits(require=level))
    return asyncio.run(Runner(level=level).run(code))


def kinds(workspace: Workspace) -> dict[str, str]:
    return {change.path: change.kind.value for change in workspace.changes()}


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


@at_every_level
def test_a_script_reads_the_folder_and_writes_to_a_layer(workspace: Workspace, folder: Path, level: IsolationLevel) -> None:
    before = files(folder)
    outcome = run(workspace, "cat data/sales.csv; echo three >> notes.txt; echo new > out.txt; rm data/sales.csv", level)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (0, "month,amount\njan,1\n", "")
    assert files(folder) == before
    assert kinds(workspace) == {"data/sales.csv": "deleted", "notes.txt": "changed", "out.txt": "created"}


@at_every_level
def test_a_later_run_sees_what_an_earlier_one_wrote(workspace: Workspace, level: IsolationLevel) -> None:
    run(workspace, "echo 1 > out.txt", level)
    assert run(workspace, "cat out.txt", level).stdout == "1\n"


@at_every_level
def test_all_changes_are_applied(workspace: Workspace, folder: Path, level: IsolationLevel) -> None:
    run(workspace, "echo three >> notes.txt; mkdir -p new/deep; echo x > new/deep/out.txt; rm -r data", level)
    result = workspace.apply()
    assert result.refused == ()
    assert files(folder) == {".env": "TOKEN=canary\n", "notes.txt": "one\ntwo\nthree\n", "new/deep/out.txt": "x\n"}
    assert workspace.changes() == ()
    assert not os.path.lexists(folder / "data")


@at_every_level
def test_hidden_files_are_not_there(workspace: Workspace, folder: Path, level: IsolationLevel) -> None:
    (folder / "sub").mkdir()
    (folder / "sub/server.pem").write_text("canary")
    outcome = run(workspace, "ls -A . sub; cat .env sub/server.pem", level)
    assert ".env" not in outcome.stdout
    assert "canary" not in outcome.stdout
    assert "server.pem" not in outcome.stdout


def test_a_program_needs_neither_a_skill_nor_a_workspace() -> None:
    code = ScriptRun(script="code.py", code=b"import os; print(os.getcwd(), 'SKILL_DIR' in os.environ)")
    outcome = asyncio.run(Runner().run(code))
    assert (outcome.exit_code, outcome.stdout) == (0, "/tmp False\n"), outcome


def test_changes_have_kinds(workspace: Workspace) -> None:
    run(workspace, "echo x > out.txt")
    assert workspace.changes()[0].kind is FileChangeKind.CREATED
