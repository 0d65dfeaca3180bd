"""Runs at the same time in one workspace: they work in the same files, and nothing is taken away from under them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from metier.errors import ConflictError
from metier.runtime import IsolationLevel, Limits, Outcome, Runner, ScriptRun, Workspace

AVAILABLE = [found.level for found in Runner().available()]
LEVELS = [level for level in AVAILABLE if level in (IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK)]
at_every_level = pytest.mark.parametrize("level", LEVELS, ids=str)
WAIT = "until [ -e {0} ]; do sleep 0.01; done; "


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    folder = tmp_path / "project"
    (folder / "old").mkdir(parents=True)
    (folder / "notes.txt").write_text("one\n")
    (folder / "old/file.txt").write_text("file\n")
    workspace = Workspace(folder)
    yield workspace
    workspace.close()


async def run(workspace: Workspace, line: str, level: IsolationLevel) -> Outcome:
    mount = await asyncio.to_thread(workspace.mount)
    code = ScriptRun(script="command.sh", code=line.encode(), workspace=mount, limits=Limits(require=level))
    return await Runner(level=level).run(code)


async def appears(workspace: Workspace, name: str) -> None:
    top = [f"{workspace.layer}/{layer}/{name}" for layer in ("upper", "copy")]
    while not any(map(os.path.exists, top)):
        await asyncio.sleep(0.01)


@at_every_level
def test_each_sees_at_once_what_the_others_write(workspace: Workspace, level: IsolationLevel) -> None:
    async def both() -> tuple[Outcome, Outcome]:
        # Each looks for the other's file before it exists: a mount of its own could remember that for ever.
        first = f"ls b; echo 1 > a; {WAIT.format('b')} cat b; rm notes.txt; echo done > c"
        second = f"ls a; {WAIT.format('a')} cat a; echo 2 > b; {WAIT.format('c')} ls"
        return await asyncio.gather(run(workspace, first, level), run(workspace, second, level))

    one, two = asyncio.run(both())
    assert (one.stdout.split()[-1], two.stdout.split()[-5:]) == ("2", ["1", "a", "b", "c", "old"])


@at_every_level
def test_appends_of_many_runs_are_all_kept(workspace: Workspace, level: IsolationLevel) -> None:
    async def many() -> list[Outcome]:
        line = "for n in $(seq 50); do echo {0} >> notes.txt; echo {0} > own{0}; mv own{0} old/own{0}; done"
        return await asyncio.gather(*(run(workspace, line.format(number), level) for number in range(6)))

    assert all(outcome.ok for outcome in asyncio.run(many()))
    workspace.apply()
    lines = Path(workspace.folder, "notes.txt").read_text().split()
    assert sorted(lines) == sorted(["one", *(str(number) for number in range(6) for _ in range(50))])
    assert len(list(Path(workspace.folder, "old").iterdir())) == 7


@at_every_level
def test_a_later_run_joins_one_whose_first_companion_has_ended(workspace: Workspace, level: IsolationLevel) -> None:
    async def three() -> tuple[Outcome, Outcome, Outcome]:
        first = asyncio.create_task(run(workspace, f"echo > a; {WAIT.format('b')}", level))
        await appears(workspace, "a")
        second = asyncio.create_task(run(workspace, f"echo > b; ls d; {WAIT.format('c')} cat c", level))
        done = await first
        third = await run(workspace, "ls; echo third > d; mv d c", level)
        return done, await second, third

    first, second, third = asyncio.run(three())
    assert (first.ok, second.stdout, third.stdout.split()) == (True, "third\n", ["a", "b", "notes.txt", "old"])


@at_every_level
def test_changes_that_are_applied_while_a_run_lasts_stay_in_its_files(workspace: Workspace, level: IsolationLevel) -> None:
    folder = Path(workspace.folder)

    async def apply_meanwhile() -> Outcome:
        line = (
            f"echo 1 > kept; echo 1 > again; rm old/file.txt; echo > ready; {WAIT.format('go')} cat kept again; echo 2 >> again"
        )
        lasting = asyncio.create_task(run(workspace, line, level))
        await appears(workspace, "ready")
        workspace.apply()
        assert (folder / "kept").read_text() == "1\n"
        assert not (folder / "old/file.txt").exists()
        assert workspace.changes() == ()
        with pytest.raises(ConflictError, match="still running"):
            workspace.discard()
        (folder / "kept").write_text("the user's\n")
        assert workspace.changes() == ()
        await run(workspace, "echo > go", level)
        return await lasting

    assert asyncio.run(apply_meanwhile()).stdout == "1\n1\n"
    assert [(change.path, change.kind.value) for change in workspace.changes()] == [("again", "changed"), ("go", "created")]
    assert workspace.apply().refused == ()
    assert (folder / "again").read_text() == "1\n2\n"
    assert (folder / "kept").read_text() == "the user's\n"
    assert asyncio.run(run(workspace, "cat kept", LEVELS[0])).stdout == "the user's\n"
