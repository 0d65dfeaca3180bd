"""`metier skill eval`: trigger evals, output evals and a skill's own tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeVar

import click

from metier.app import App
from metier.catalog import Entry
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.models import required_model
from metier.cli.core.progress import progress
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import entries_named
from metier.cli.core.terminal import Terminal
from metier.errors import NotFoundError, UsageError
from metier.evals import (
    EvalCase,
    OutputEval,
    OutputReport,
    ResultsFolder,
    SkillTestFile,
    SkillTestResult,
    TriggerQuery,
    TriggerReport,
    balance,
    find_skill_tests,
    judge_factory,
    junit_triggers,
    meant_for_others,
    read_cases,
    read_queries,
    render_html,
    run_outputs,
    run_skill_tests,
    run_triggers,
    selector_with,
)
from metier.models import ChatModel, ModelChoice, ModelClient
from metier.runtime import ApprovalAnswer
from metier.sources import DiskFiles, replace_bytes
from metier.values import dataclass

from .eval_report import output_lines, trigger_lines
from .test import runner_for, test_lines

__all__ = ["evaluate"]

T = TypeVar("T")


@command("skill", "eval")
@click.argument("targets", nargs=-1, metavar="[NAME|PATH]...", shell_complete=skill_names)
@click.option("--triggers", is_flag=True, help="Only trigger evals: is it selected for the right requests?")
@click.option("--outputs", is_flag=True, help="Only output evals: its tasks with the skill and without. Needs a model.")
@click.option("--tests", is_flag=True, help="Also run its own tests, like `metier skill test`.")
@click.option("--offline", is_flag=True, help="Use the local ranker even if a model is set.")
@click.option("--runs", type=click.IntRange(1, 50), default=3, show_default=True, help="Runs per request with a model.")
@click.option(
    "--baseline", type=click.Path(exists=True, file_okay=False), help="Compare with this older version instead of no skill."
)
@click.option("--workspace", type=click.Path(file_okay=False), help="Folder for the results of tasks; default: NAME-workspace.")
@click.option("--html", type=click.Path(dir_okay=False), help="Also write the report to this file, as one HTML page.")
@click.option("--junit", type=click.Path(dir_okay=False), help="Also write the trigger results to this file, as JUnit XML.")
@click.option("--allow-none", is_flag=True, help="Exit with 0 if no skill has evals; for CI.")
@click.option("-v", "--verbose", is_flag=True, help="Also list the requests that passed.")
def evaluate(
    app: App, *, targets: tuple[str, ...], triggers: bool, outputs: bool, tests: bool, offline: bool, runs: int,
    baseline: str | None, workspace: str | None, html: str | None, junit: str | None, allow_none: bool, verbose: bool,
) -> Result:  # fmt: skip
    """Measure whether a skill triggers when it should, and helps when it does.

    evals/eval_queries.json holds requests and whether the skill should be selected for each; the judge is the model of your
    settings, or else the local ranker, among all installed skills. evals/evals.json holds tasks; a model does each with the
    skill and without. Exits with 1 if a request fails, a test fails, or the skill makes results worse.
    """
    entries = entries_named(app, targets)
    model = None if offline else app.conversations.model()
    if outputs and model is None:
        if offline:
            raise UsageError("--outputs needs a model, and --offline forbids one", hint="leave one of them out")
        model = required_model(app, purpose="--outputs")
    jobs = _Jobs(
        queries=_read_all(entries, lambda files, name: read_queries(files, skill=name)) if triggers or not outputs else [],
        cases=_read_all(entries, lambda files, name: read_cases(files, skill=name))
        if model and (outputs or not triggers)
        else [],
        suites=_read_all(entries, lambda files, name: find_skill_tests(name, files.folder)) if tests else [],
        runs=runs,
        old=entries_named(app, [baseline])[0] if baseline else None,
        workspace=workspace,
    )
    if not allow_none:
        jobs.check(entries, outputs=outputs)
    done = asyncio.run(_evaluate(app, jobs, model))
    if junit:
        replace_bytes(str(Path(app.folder, junit)), junit_triggers(done.triggers).encode(), mode=0o644)
    if html:
        title = f"Evals of {entries[0].name if len(entries) == 1 else f'{len(entries)} skills'}"
        report = render_html(title, triggers=done.triggers, tests=done.tests, outputs=done.outputs)
        replace_bytes(str(Path(app.folder, html)), report.encode("utf-8", "replace"), mode=0o644)
    asked = {entry.name for entry, _ in (*jobs.queries, *jobs.cases)}
    without = tuple(f"{entry.name} has no evals" for entry in entries if entry.name not in asked)
    misplaced = tuple(
        f"{entry.name}: {note}" for entry in entries for note in meant_for_others(DiskFiles(entry.folder), entry.name)
    )
    return _result(done, (*without, *misplaced), verbose=verbose)


@dataclass(frozen=True, kw_only=True)
class _Jobs:
    queries: Sequence[tuple[Entry, tuple[TriggerQuery, ...]]]
    cases: Sequence[tuple[Entry, tuple[EvalCase, ...]]]
    suites: Sequence[tuple[Entry, tuple[SkillTestFile, ...]]]
    runs: int
    old: Entry | None
    workspace: str | None

    def check(self, entries: Sequence[Entry], *, outputs: bool) -> None:
        """Raises NotFoundError if there is nothing to run."""
        if not self.queries and not self.cases and not self.suites:
            (read_cases if outputs else read_queries)(DiskFiles(entries[0].folder), skill=entries[0].name)

    @property
    def total(self) -> int:
        queries, tasks, tests = (sum(len(each) for _, each in jobs) for jobs in (self.queries, self.cases, self.suites))
        return queries + tasks * 2 * self.runs + tests


@dataclass(frozen=True, kw_only=True)
class _Done:
    triggers: Sequence[TriggerReport]
    tests: Sequence[SkillTestResult]
    outputs: Sequence[OutputReport]


def _read_all(entries: Sequence[Entry], read: Callable[[DiskFiles, str], T]) -> list[tuple[Entry, T]]:
    """The skills that have such files, with their contents."""
    found = []
    for entry in entries:
        try:
            found.append((entry, read(DiskFiles(entry.folder), entry.name)))
        except NotFoundError:
            continue
    return found


async def _evaluate(app: App, jobs: _Jobs, choice: ModelChoice | None) -> _Done:
    with progress("evaluating", jobs.total) as advance:
        async with AsyncExitStack() as stack:
            model = await stack.enter_async_context(ModelClient(choice)) if choice else None
            triggers = await _run_triggers(app, jobs, model, lambda: advance(1))
            suites = [suite for _, found in jobs.suites for suite in found]
            limits = app.sessions.options().limits
            tests = (
                await run_skill_tests(suites, runner_for(app, suites), limits=limits, on_progress=lambda _: advance(1))
                if suites
                else ()
            )
            outputs = await _run_outputs(app, jobs, model, lambda: advance(1)) if model else []
    return _Done(triggers=triggers, tests=tests, outputs=outputs)


async def _run_triggers(app: App, jobs: _Jobs, model: ChatModel | None, on_progress: Callable[[], None]) -> list[TriggerReport]:
    if not jobs.queries:
        return []
    selector = selector_with(app.skills.selector, [entry for entry, _ in jobs.queries], app.catalog.entries)
    reports = []
    for entry, queries in jobs.queries:
        judge = judge_factory(entry, catalog=app.catalog, selector=selector, model=model)(entry.description)
        reports.append(
            await run_triggers(entry.name, queries, judge, runs=jobs.runs, on_progress=on_progress, notes=balance(queries))
        )
    return reports


async def _run_outputs(app: App, jobs: _Jobs, model: ChatModel, on_progress: Callable[[], None]) -> list[OutputReport]:
    # Running the command approves the skill's scripts; what the policy forbids stays forbidden.
    permissions = app.sessions.permissions(lambda _: ApprovalAnswer.ONCE)
    reports = []
    for entry, cases in jobs.cases:
        evaluation = OutputEval(
            entry=entry, cases=cases, model=model, runner=app.sessions.runner, permissions=permissions,
            runs=jobs.runs, old=jobs.old,
            limits=app.sessions.options().limits,
        )  # fmt: skip
        folder = jobs.workspace or f"{entry.name}-workspace"
        with ResultsFolder(str(Path(app.folder, folder)), runs=jobs.runs) as workspace:
            report = await run_outputs(evaluation, workspace, on_progress=on_progress)
            workspace.finish(report.data(), cases, render_html(f"Evals of {entry.name}", outputs=[report]))
        reports.append(report)
    return reports


def _result(done: _Done, notes: tuple[str, ...], *, verbose: bool) -> Result:
    failed = sum(len(report.failures) for report in done.triggers)
    wrong = failed + sum(not test.ok for test in done.tests) + sum(not report.ok for report in done.outputs)

    def lines(terminal: Terminal) -> Iterator[str]:
        yield from trigger_lines(done.triggers, terminal, verbose=verbose)
        yield from test_lines(done.tests, terminal, verbose=verbose) if done.tests else ()
        yield from output_lines(done.outputs, terminal)
        if not (done.triggers or done.tests or done.outputs):
            yield "No evals"

    return Result(
        data={
            "triggers": [report.data() for report in done.triggers], "tests": [test.data() for test in done.tests],
            "outputs": [{**report.data(), "workspace": report.folder} for report in done.outputs], "failed": failed,
        },
        lines=lines,
        status=1 if wrong else 0,
        notes=(*notes, *(f"{report.skill}: {note}" for report in done.triggers for note in report.notes)),
    )  # fmt: skip
