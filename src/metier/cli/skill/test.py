"""`metier skill test`: a skill's own tests, in the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import click

from metier.app import App
from metier.catalog import Entry
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.progress import progress
from metier.cli.core.report_formats import write_report
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import entries_named
from metier.cli.core.terminal import Terminal, one_line, paint_diff, plural
from metier.errors import NotFoundError, RefusedError
from metier.evals import (
    SkillTestFile,
    SkillTestResult,
    SkillTestStatus,
    find_skill_tests,
    interpreters_with,
    junit_tests,
    run_skill_tests,
    starter_tests,
)
from metier.runtime import PolicyVerdict, ScriptRunner, is_script
from metier.sources import DiskFiles

from .starters import write_starters

__all__ = ["runner_for", "test", "test_lines"]

_SIGNS = {
    SkillTestStatus.PASSED: ("✓", "green"),
    SkillTestStatus.FAILED: ("✗", "red"),
    SkillTestStatus.ERROR: ("!", "red"),
    SkillTestStatus.SKIPPED: ("○", "dim"),
}
_MOST_LINES = 40


@command("skill", "test")
@click.argument("targets", nargs=-1, metavar="[NAME|PATH]...", shell_complete=skill_names)
@click.option("--init", is_flag=True, help="Write a starter page of tests for its scripts, and run nothing.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), help="Number of parallel test files; default: one for each processor."
)
@click.option("--junit", type=click.Path(dir_okay=False), help="Also write the results to this file, as JUnit XML.")
@click.option("--allow-none", is_flag=True, help="Exit with 0 if no skill has tests; for CI.")
@click.option("-v", "--verbose", is_flag=True, help="Also list the tests that passed.")
def test(
    app: App,
    *,
    targets: tuple[str, ...],
    init: bool,
    jobs: int | None,
    junit: str | None,
    allow_none: bool,
    verbose: bool,
) -> Result:
    """Run a skill's own tests in the sandbox.

    Test files are in its tests/ folder: pages (.md) with commands and their expected output in ```console blocks, and pytest
    files. They run like a script of the skill: its folder is read-only, without network. Exits with 1 if a test fails.
    """
    if init:
        return write_starters(app, targets, "tests/scripts.md", _starter, then="test")
    files, without = _find_tests(app, targets, allow_none=allow_none)
    with progress("testing", len(files)) as advance:
        runner = runner_for(app, files)
        limits = app.sessions.options().limits
        tests = run_skill_tests(
            files, runner, limits=limits, parallel=jobs, packages=app.packages.prepared, on_progress=lambda _: advance(1)
        )
        results = asyncio.run(tests)
    if junit:
        write_report(app, junit, junit_tests(results))
    counts = _counts(results)
    return Result(
        data={**counts, "tests": [one.data() for one in results]},
        lines=lambda terminal: test_lines(results, terminal, verbose=verbose),
        status=0 if all(one.ok for one in results) else 1,
        notes=tuple(f"{name} has no tests" for name in without),
    )


def _starter(entry: Entry) -> str:
    scripts = [file.path for file in DiskFiles(entry.folder).list() if is_script(file)]
    if not scripts:
        raise NotFoundError(f"{entry.name} has no scripts to test", hint="write tests/NAME.md with ```console blocks")
    return starter_tests(scripts)


def runner_for(app: App, suites: Sequence[SkillTestFile]) -> ScriptRunner:
    """The app's runner, with a Python that has pytest if needed. RefusedError if the policy forbids scripts."""
    if app.sessions.permissions().policy.scripts is PolicyVerdict.DENY:
        raise RefusedError("the policy forbids scripts of skills", rule="policy.scripts", hint="see `metier policy show`")
    needs_pytest = any(not suite.steps for suite in suites)
    return (
        app.sessions.runner_with(interpreters_with("pytest", path=app.environment.get("PATH")))
        if needs_pytest
        else app.sessions.runner
    )


def _find_tests(app: App, targets: Sequence[str], *, allow_none: bool) -> tuple[list[SkillTestFile], list[str]]:
    """The test files of the named skills, and the names of skills without tests."""
    found: list[SkillTestFile] = []
    without: list[NotFoundError] = []
    names: list[str] = []
    for entry in entries_named(app, targets):
        try:
            found += find_skill_tests(entry.name, entry.folder)
        except NotFoundError as error:
            without.append(error)
            names.append(entry.name)
    if not found and not allow_none:
        raise without[0]
    return found, names


def test_lines(results: Sequence[SkillTestResult], terminal: Terminal, *, verbose: bool) -> Iterator[str]:
    for one in results:
        if one.status is SkillTestStatus.PASSED and not verbose:
            continue
        sign, style = _SIGNS[one.status]
        place = f"{one.skill}/{one.file}" + (f":{one.line}" if one.line else "")
        yield f"{terminal.paint(sign, style)} {one_line(place)}  {one_line(one.name)}".rstrip()
        if one.message and not one.ok:
            lines = one.message.split("\n")
            yield from (f"    {line}" for line in paint_diff(lines[:_MOST_LINES], terminal))
            if len(lines) > _MOST_LINES:
                yield f"    … {plural(len(lines) - _MOST_LINES, 'more line')}"
        elif one.message:
            yield f"    {terminal.paint(one_line(one.message), 'dim')}"
    yield ", ".join(f"{count} {status}" for status, count in _counts(results).items() if count) or "No tests"


def _counts(results: Sequence[SkillTestResult]) -> dict[str, int]:
    return {str(status): sum(one.status is status for one in results) for status in SkillTestStatus}
