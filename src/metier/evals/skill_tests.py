"""A skill's own tests, run like its scripts: in the sandbox, without network, and in parallel.

The tests are the files in `tests/` of a skill: pages with commands and their expected output (see `transcript`), and pytest
files. Each file runs in its own scratch folder, so tests cannot affect each other or the machine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from metier.errors import MetierError, NotFoundError
from metier.runtime import Limits, Outcome, PackageMount, ScriptRun, ScriptRunner
from metier.sources import DiskFiles
from metier.spec import OwnFiles
from metier.values import dataclass, field

from .parallel import run_parallel
from .transcript import SKIPPED, ConsoleStep, difference, read_transcript

__all__ = ["SkillTestFile", "SkillTestResult", "SkillTestStatus", "find_skill_tests", "run_skill_tests"]

_BENCH = os.path.join(os.path.dirname(__file__), "bench")
_LARGEST = 1 << 20
_PYTEST = ("test_*.py", "*_test.py")
_LAST_LINES = 20


class SkillTestStatus(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    """The test could not be run, so there is no result about the skill."""
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillTestResult:
    """The result of one test."""

    skill: str
    file: str
    name: str
    status: SkillTestStatus
    seconds: float = 0.0
    message: str = ""
    line: int | None = None

    @property
    def ok(self) -> bool:
        return self.status in (SkillTestStatus.PASSED, SkillTestStatus.SKIPPED)

    def data(self) -> dict[str, Any]:
        keys = ("skill", "file", "line", "name", "status", "message")
        return {**{key: getattr(self, key) for key in keys}, "seconds": round(self.seconds, 4)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillTestFile:
    """A test file of a skill."""

    skill: str
    folder: str
    file: str
    steps: tuple[ConsoleStep, ...] = field(default=())
    """Empty for a pytest file."""


def find_skill_tests(skill: str, folder: str) -> tuple[SkillTestFile, ...]:
    """The test files of a skill, sorted by name."""
    files = DiskFiles(folder)
    found = []
    for entry in OwnFiles(files).list():
        if not entry.path.startswith("tests/"):
            continue
        name = entry.path.rpartition("/")[2]
        if any(fnmatchcase(name, pattern) for pattern in _PYTEST):
            found.append(SkillTestFile(skill=skill, folder=files.folder, file=entry.path))
        elif name.endswith(".md"):
            steps = read_transcript(files.read(entry.path, limit=_LARGEST).decode("utf-8", "replace"))
            found += [SkillTestFile(skill=skill, folder=files.folder, file=entry.path, steps=steps)] if steps else []
    if not found:
        raise NotFoundError(f"{skill} has no tests", hint="write tests/NAME.md with ```console blocks, or tests/test_NAME.py")
    return tuple(found)


async def run_skill_tests(
    files: Sequence[SkillTestFile], runner: ScriptRunner, *, limits: Limits | None = None, parallel: int | None = None,
    packages: Callable[[str], Sequence[PackageMount]] = lambda _: (),
    on_progress: Callable[[Sequence[SkillTestResult]], None] = lambda _: None,
) -> tuple[SkillTestResult, ...]:  # fmt: skip
    """Runs all files in parallel, by default one per processor. `on_progress` is called with the results of each file.

    `packages` returns the prepared packages of the skill in a folder; tests can import all of them.
    """
    mounts = {folder: tuple(packages(folder)) for folder in {file.folder for file in files}}

    async def one(file: SkillTestFile) -> Sequence[SkillTestResult]:
        results = await (_commands if file.steps else _pytest)(file, runner, limits or Limits(), mounts[file.folder])
        on_progress(results)
        return results

    done = await run_parallel((partial(one, file) for file in files), at_once=parallel or os.cpu_count() or 1)
    return tuple(result for results in done for result in results)


async def _commands(
    suite: SkillTestFile, runner: ScriptRunner, limits: Limits, packages: tuple[PackageMount, ...]
) -> Sequence[SkillTestResult]:
    plan = {"folder": suite.folder, "commands": [step.command for step in suite.steps]}
    run = _run("commands", suite, plan, limits, packages)
    try:
        outcome = await runner.run(run)
    except MetierError as error:
        return [_broken(suite, f"{error} ({error.hint})")]
    try:
        return list(_judge(suite, json.loads(outcome.stdout)))
    except (ValueError, TypeError, KeyError):
        return [_broken(suite, _why(outcome), seconds=outcome.duration)]


def _judge(suite: SkillTestFile, rows: Sequence[dict[str, Any]]) -> Iterable[SkillTestResult]:
    for number, step in enumerate(suite.steps):
        made = partial(SkillTestResult, skill=suite.skill, file=suite.file, name=step.command, line=step.line)
        row = rows[number] if number < len(rows) else None
        if row is None or row["code"] == SKIPPED != step.code:
            yield made(status=SkillTestStatus.SKIPPED, message="skipped by the page")
            continue
        wrong = difference(step, row["code"], row["output"])
        yield made(status=SkillTestStatus.FAILED if wrong else SkillTestStatus.PASSED, seconds=row["seconds"], message=wrong)


async def _pytest(
    suite: SkillTestFile, runner: ScriptRunner, limits: Limits, packages: tuple[PackageMount, ...]
) -> Sequence[SkillTestResult]:
    run = _run("pytests", suite, {"folder": suite.folder, "file": suite.file}, limits, packages, outputs=("report.json",))
    try:
        outcome = await runner.run(run)
    except MetierError as error:
        return [_broken(suite, f"{error} ({error.hint})")]
    try:
        return list(_report(suite, json.loads(outcome.files[0].data)))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        # pytest ended early, or the tests wrote a report of their own.
        return [_broken(suite, _why(outcome), seconds=outcome.duration)]


def _report(suite: SkillTestFile, report: dict[str, Any]) -> Iterable[SkillTestResult]:
    if "missing" in report:
        yield _broken(suite, f"pytest is not installed for {report['missing']} (install it there: pip install pytest)")
        return
    for row in report["tests"]:
        yield SkillTestResult(
            skill=suite.skill, file=suite.file, name=str(row["name"]), status=SkillTestStatus(row["status"]),
            seconds=float(row["seconds"]), message=str(row.get("message", "")), line=int(row.get("line") or 0) or None,
        )  # fmt: skip
    if not report["tests"]:
        yield _broken(suite, f"pytest found no test to run; its exit code is {report['code']}")


def _run(
    script: str, suite: SkillTestFile, plan: dict[str, Any], limits: Limits, packages: tuple[PackageMount, ...], **more: Any
) -> ScriptRun:
    # Any: fields. The packages are inputs, not `packages`: pytest is one of the interpreter's own, which those would replace.
    paths = {
        "PYTHONPATH": [mount.folder for mount in packages if not mount.is_node],
        "NODE_PATH": [f"{mount.folder}/node_modules" for mount in packages if mount.is_node],
    }
    plan = {**plan, "paths": {name: folders for name, folders in paths.items() if folders}}
    return ScriptRun(
        folder=_BENCH, script=f"scripts/{script}.py", stdin=json.dumps(plan).encode(), limits=limits,
        inputs=(suite.folder, *(mount.folder for mount in packages)), **more,
    )  # fmt: skip


def _broken(suite: SkillTestFile, message: str, seconds: float = 0.0) -> SkillTestResult:
    return SkillTestResult(
        skill=suite.skill, file=suite.file, name="", status=SkillTestStatus.ERROR, message=message, seconds=seconds
    )


def _why(outcome: Outcome) -> str:
    if outcome.timed_out:
        return f"timed out after {outcome.duration:.0f} s"
    if outcome.stop_reason:
        return f"it was stopped: too much {outcome.stop_reason}"
    last = "\n".join((outcome.stderr or outcome.stdout).splitlines()[-_LAST_LINES:])
    return f"exit code {outcome.exit_code} without a report\n{last}".strip()
