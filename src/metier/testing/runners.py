"""The port that runs scripts: a fake that runs nothing, and what every runner must hold."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from metier.errors import MetierError, NotFoundError, RefusedError
from metier.runtime import Isolation, IsolationLevel, Limits, Outcome, ScriptRun, ScriptRunner, check_argument_limits
from metier.sources import DiskFiles
from metier.spec import resource_path

from .sessions import skill_folder

__all__ = ["FakeRunner", "RunnerConformance", "run_now"]

T = TypeVar("T")


def run_now(work: Coroutine[Any, Any, T]) -> T:  # Any: what a coroutine sends and receives is nobody's business
    """Await something from a test that is not asynchronous."""
    return asyncio.run(work)


class FakeRunner:
    """Checks a run as the real one does, runs nothing, and answers what it was told. `ran` holds every run."""

    def __init__(self, answer: str | Outcome | Callable[[ScriptRun], str | Outcome] = "ran\n") -> None:
        self._answer = answer
        self.ran: list[ScriptRun] = []

    async def run(self, run: ScriptRun) -> Outcome:
        check_argument_limits(run)
        path = resource_path(run.script)
        if not path.startswith("scripts/"):
            raise RefusedError(f"{path!r} is not a script of the skill", rule="not-a-script", hint="scripts are below scripts/")
        DiskFiles(run.folder).read(path, limit=1 << 26)
        self.ran.append(run)
        said = self._answer(run) if callable(self._answer) else self._answer
        return said if isinstance(said, Outcome) else outcome(said)


def outcome(stdout: str = "", *, exit_code: int = 0, stderr: str = "", duration: float = 0.5) -> Outcome:
    isolation = Isolation(level=IsolationLevel.NAMESPACE, layers=("fake",))
    return Outcome(exit_code=exit_code, stdout=stdout, stderr=stderr, isolation=isolation, duration=duration)


class RunnerConformance:
    """Subclass it, say how your runner is made, and let pytest collect it."""

    executes = True
    """False for a runner that runs nothing: then only what it refuses is looked at."""

    def new_runner(self) -> ScriptRunner:
        raise NotImplementedError

    def _run(self, folder: Path, source: str = "print('hello')\n", **options: Any) -> Outcome:  # Any: fields of Run
        skill = skill_folder(folder, "tried", files={"scripts/go.py": source})
        wish = ScriptRun(folder=str(skill), script="scripts/go.py")
        return run_now(self.new_runner().run(replace(wish, **options)))

    def _refused(self, folder: Path, kind: type[MetierError], **options: Any) -> None:  # Any: fields of Run
        try:
            self._run(folder, **options)
        except kind:
            return
        raise AssertionError(f"this should have been {kind.__name__}: {options}")

    def test_a_hundred_arguments_pass_and_one_more_is_refused(self, tmp_path: Path) -> None:
        assert self._run(tmp_path, arguments=("x",) * 100).ok
        self._refused(tmp_path, RefusedError, arguments=("x",) * 101)

    def test_4096_bytes_of_arguments_pass_and_one_more_is_refused(self, tmp_path: Path) -> None:
        assert self._run(tmp_path, arguments=("é" * 2048,)).ok
        self._refused(tmp_path, RefusedError, arguments=("é" * 2048, "x"))

    def test_a_nul_in_an_argument_is_refused(self, tmp_path: Path) -> None:
        self._refused(tmp_path, RefusedError, arguments=("a\0b",))

    def test_a_script_that_is_not_there_is_not_found(self, tmp_path: Path) -> None:
        self._refused(tmp_path, NotFoundError, script="scripts/other.py")

    def test_only_what_lies_under_scripts_is_run(self, tmp_path: Path) -> None:
        for script in ("SKILL.md", "../tried/scripts/go.py", "/bin/true", "references/x.py"):
            self._refused(tmp_path, RefusedError, script=script)

    def test_an_outcome_says_how_the_run_was_isolated(self, tmp_path: Path) -> None:
        found = self._run(tmp_path).isolation
        assert found.level in IsolationLevel
        assert found.layers or found.missing

    def test_output_and_exit_code_are_those_of_the_script(self, tmp_path: Path) -> None:
        if self.executes:
            source = "import sys\nprint(sys.argv[1:], sys.stdin.read())\nprint('oh', file=sys.stderr)\nsys.exit(7)\n"
            found = self._run(tmp_path, source, arguments=("a b", "-c"), stdin=b"in")
            assert (found.exit_code, found.stdout, found.stderr) == (7, "['a b', '-c'] in\n", "oh\n")

    def test_a_script_that_takes_too_long_is_ended(self, tmp_path: Path) -> None:
        if self.executes:
            found = self._run(tmp_path, "import time\ntime.sleep(60)\n", limits=Limits(seconds=0.5))
            assert (found.exit_code, found.timed_out) == (None, True)
