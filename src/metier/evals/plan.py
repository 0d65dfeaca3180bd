"""All evals of some skills: their files are read first, then they run.

plan = plan_evals(entries, EvalOptions(tests=True))
results = asyncio.run(run_evals(plan, services))
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from metier.catalog import Catalog, Entry
from metier.errors import NotFoundError, plural
from metier.models import ChatModel
from metier.runtime import Limits, PackageMount, PackageProvider, Permissions, ScriptRunner
from metier.selection import Selector
from metier.sources import DiskFiles
from metier.values import dataclass

from .agent.judge import AgentTriggerJudge
from .agent.runs import AgentRunner
from .agent.tasks import AgentTasks
from .files import EvalCase, TriggerQuery, balance, meant_for_others, read_cases, read_queries
from .html_report import render_html
from .judges import judge_factory
from .outputs import TASKS_AT_ONCE, OutputEval, OutputReport, run_outputs
from .ranker_judge import selector_with
from .results_folder import ResultsFolder
from .skill_tests import SkillTestFile, SkillTestResult, find_skill_tests, run_skill_tests
from .triggers import AT_ONCE, TriggerReport, run_triggers

__all__ = ["EvalOptions", "EvalPlan", "EvalResults", "EvalServices", "plan_evals", "run_evals"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalOptions:
    triggers: bool = True
    outputs: bool = False
    """Needs a model."""
    tests: bool = False
    runs: int = 3
    baseline: Entry | None = None
    """Output evals compare with this version instead of no skill."""
    workspace: str | None = None
    """The folder for the results of output evals; default: NAME-workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalServices:
    """The services that evals need: the competing skills, the model, and the sandbox with its limits."""

    catalog: Catalog
    selector: Selector
    runner: ScriptRunner
    permissions: Permissions
    limits: Limits
    folder: str
    """Relative paths of results start here."""
    model: ChatModel | None = None
    """Judges triggers instead of the local ranker, and does the tasks of output evals."""
    test_runner: ScriptRunner | None = None
    """Runs the skills' own tests; default: `runner`."""
    agent: AgentRunner | None = None
    """An agent program that judges triggers and does tasks; the model then only grades."""
    beside: tuple[Entry, ...] = ()
    """The other skills that the agent can see."""
    at_once: int = 2
    """Agent programs that run at the same time."""
    packages: PackageProvider | None = None
    """Prepares the packages that scripts declare."""
    prepared: Callable[[str], Sequence[PackageMount]] = lambda _: ()
    """Returns the prepared packages of the skill in a folder, for its own tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalPlan:
    """The skills that have evals, with the contents of their files."""

    entries: tuple[Entry, ...]
    options: EvalOptions
    queries: tuple[tuple[Entry, tuple[TriggerQuery, ...]], ...]
    cases: tuple[tuple[Entry, tuple[EvalCase, ...]], ...]
    test_files: tuple[SkillTestFile, ...]

    @property
    def title(self) -> str:
        return f"Evals of {self.entries[0].name if len(self.entries) == 1 else f'{len(self.entries)} skills'}"

    @property
    def steps(self) -> int:
        """The number of calls of `on_progress`."""
        tasks = sum(len(cases) for _, cases in self.cases)
        return sum(len(queries) for _, queries in self.queries) + len(self.test_files) + tasks * 2 * self.options.runs

    @property
    def notes(self) -> tuple[str, ...]:
        """Skills without evals, and eval files that name another skill."""
        planned = {entry.name for entry, _ in (*self.queries, *self.cases)}
        return (
            *(f"{entry.name} has no evals" for entry in self.entries if entry.name not in planned),
            *(
                f"{entry.name}: {note}"
                for entry in self.entries
                for note in meant_for_others(DiskFiles(entry.folder), entry.name)
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalResults:
    title: str
    triggers: tuple[TriggerReport, ...]
    tests: tuple[SkillTestResult, ...]
    outputs: tuple[OutputReport, ...]
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """False if a request or a test fails, or a skill makes results worse."""
        parts: tuple[Sequence[TriggerReport | SkillTestResult | OutputReport], ...] = (self.triggers, self.tests, self.outputs)
        return all(one.ok for part in parts for one in part)

    def html(self) -> str:
        return render_html(self.title, triggers=self.triggers, tests=self.tests, outputs=self.outputs)

    def data(self) -> dict[str, Any]:
        return {
            "triggers": [report.data() for report in self.triggers], "tests": [test.data() for test in self.tests],
            "outputs": [{**report.data(), "workspace": report.folder} for report in self.outputs],
            "failed": sum(len(report.failures) for report in self.triggers),
        }  # fmt: skip


def plan_evals(entries: Sequence[Entry], options: EvalOptions, *, allow_none: bool = False) -> EvalPlan:
    """Reads the eval files of these skills. Raises NotFoundError if no skill has any, unless `allow_none`."""
    plan = EvalPlan(
        entries=tuple(entries),
        options=options,
        queries=_read_all(entries, lambda files, name: read_queries(files, skill=name)) if options.triggers else (),
        cases=_read_all(entries, lambda files, name: read_cases(files, skill=name)) if options.outputs else (),
        test_files=tuple(
            file for _, found in _read_all(entries, lambda files, name: find_skill_tests(name, files.folder)) for file in found
        )
        if options.tests
        else (),
    )
    if not (plan.queries or plan.cases or plan.test_files or allow_none):
        read = read_queries if options.triggers else read_cases
        read(DiskFiles(entries[0].folder), skill=entries[0].name)  # raises
    return plan


async def run_evals(plan: EvalPlan, services: EvalServices, *, on_progress: Callable[[], None] = lambda: None) -> EvalResults:
    """Runs trigger evals, tests and output evals, in this order. `on_progress` is called `plan.steps` times."""
    triggers = await _run_triggers(plan, services, on_progress)
    tests = await run_skill_tests(
        plan.test_files,
        services.test_runner or services.runner,
        limits=services.limits,
        packages=services.prepared,
        on_progress=lambda _: on_progress(),
    )
    outputs = await _run_outputs(plan, services, on_progress) if services.model or services.agent else []
    ungraded = _ungraded(plan) if services.agent and not services.model else ()
    notes = (*plan.notes, *ungraded, *(f"{report.skill}: {note}" for report in triggers for note in report.notes))
    return EvalResults(title=plan.title, triggers=tuple(triggers), tests=tuple(tests), outputs=tuple(outputs), notes=notes)


def _read_all(entries: Sequence[Entry], read: Callable[[DiskFiles, str], T]) -> tuple[tuple[Entry, T], ...]:
    """The skills that have such files, with their contents."""
    found = []
    for entry in entries:
        try:
            found.append((entry, read(DiskFiles(entry.folder), entry.name)))
        except NotFoundError:
            continue
    return tuple(found)


def _ungraded(plan: EvalPlan) -> tuple[str, ...]:
    """A note about assertions that only a model can grade."""
    count = sum(not one.command for _, cases in plan.cases for case in cases for one in case.assertions)
    count += sum(bool(case.expected) and not case.assertions for _, cases in plan.cases for case in cases)
    return (f"{plural(count, 'assertion')} without a command not graded: that needs a model in your settings",) if count else ()


async def _run_triggers(plan: EvalPlan, services: EvalServices, on_progress: Callable[[], None]) -> list[TriggerReport]:
    subjects = [entry for entry, _ in plan.queries]
    selector = selector_with(services.selector, subjects, services.catalog.entries)
    reports = []
    for entry, queries in plan.queries:
        make_judge = judge_factory(entry, catalog=services.catalog, selector=selector, model=services.model)
        agent = services.agent
        judge = AgentTriggerJudge(agent, entry, services.beside) if agent else make_judge(entry.description)
        reports.append(
            await run_triggers(
                entry.name,
                queries,
                judge,
                runs=plan.options.runs,
                on_progress=on_progress,
                notes=balance(queries),
                at_once=services.at_once if agent else AT_ONCE,
            )
        )
    return reports


async def _run_outputs(plan: EvalPlan, services: EvalServices, on_progress: Callable[[], None]) -> list[OutputReport]:
    options = plan.options
    reports = []
    for entry, cases in plan.cases:
        evaluation = OutputEval(
            entry=entry, cases=cases, model=services.model, runner=services.runner, permissions=services.permissions,
            packages=services.packages, runs=options.runs, old=options.baseline, limits=services.limits,
            agent=AgentTasks(services.agent, entry.name, services.beside) if services.agent else None,
            at_once=services.at_once if services.agent else TASKS_AT_ONCE,
        )  # fmt: skip
        folder = os.path.join(services.folder, options.workspace or f"{entry.name}-workspace")
        # A folder that the user named may be anywhere; one in the project may not lead out of it.
        inside = services.folder if os.path.abspath(folder).startswith(os.path.join(services.folder, "")) else None
        with ResultsFolder(folder, runs=options.runs, inside=inside) as results:
            report = await run_outputs(evaluation, results, on_progress=on_progress)
            results.finish(report.data(), cases, render_html(f"Evals of {entry.name}", outputs=[report]))
        reports.append(report)
    return reports
