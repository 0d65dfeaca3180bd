"""`metier skill bisect`: the version of a skill that broke its evals."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import click

from metier.app import App
from metier.catalog import Entry
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import entry_in
from metier.cli.core.terminal import Terminal, one_line, plural
from metier.errors import NotFoundError
from metier.evals import (
    AgentTriggerJudge,
    BisectReport,
    BisectStep,
    RankerTriggerJudge,
    TriggerQuery,
    TriggerReport,
    bisect_versions,
    read_queries,
    run_triggers,
    selector_with,
)
from metier.install import REGISTRY_KINDS, Access, LockEntry, SkillHistory, history_source, skill_history, try_skill
from metier.sources import DiskFiles

from .eval_agent import AgentChoice, agent_options, open_agent
from .install import ACCESS_OPTIONS
from .install_common import access_of, access_options

__all__ = ["bisect"]


@command("skill", "bisect")
@click.argument("target", metavar="NAME|PATH|REF", shell_complete=skill_names)
@click.option("--good", required=True, metavar="VERSION", help="A version whose evals pass: a version, tag or commit.")
@click.option("--bad", required=True, metavar="VERSION", help="A later version whose evals fail.")
@click.option("--skill", help="This skill of several.")
@click.option("--evals", "folder", type=click.Path(exists=True, file_okay=False),
              help="Measure with the evals of this skill folder.  [default: those of the bad version]")  # fmt: skip
@click.option("--runs", type=click.IntRange(1, 50), default=3, show_default=True, help="Runs per request with --agent.")
@agent_options
@access_options
def bisect(
    app: App, *, target: str, good: str, bad: str, skill: str | None, folder: str | None, runs: int, **options: Any
) -> Result:
    """Find the version of a skill that broke its trigger evals.

    The versions between the good one and the bad one (releases of its registry, or commits of its git repository) are fetched
    into temporary folders and measured, half of the rest at each step. All are measured with the same requests, by the local
    ranker or, with --agent, in an agent program. What is installed does not change.
    """
    # Any: the options above.
    access = access_of(app, **{key: options.pop(key) for key in ACCESS_OPTIONS if key in options})
    entry = _locked(app, target)
    source, access = history_source(target, access, entry=entry, folder="" if entry else _folder_of(app, target))
    agent = open_agent(app, **options)
    history = skill_history(source, good, bad, access)
    name = skill or (entry.called or entry.name if entry and entry.origin.kind == "git" else "") or history.skill
    trials = _Trials(app, history, access, name, agent, runs)
    trials.read_queries(folder or "")
    report = asyncio.run(bisect_versions(trials.name, history.versions, trials.measure))
    return Result(
        data=report.data(),
        lines=lambda terminal: _lines(report, history, terminal),
        notes=agent.warnings if agent else (),
    )


class _Trials:
    """Fetches and measures versions."""

    def __init__(
        self, app: App, history: SkillHistory, access: Access, skill: str, agent: AgentChoice | None, runs: int
    ) -> None:
        self._app, self._access, self._skill, self._agent, self._runs = app, access, skill, agent, runs
        self._refs = dict(zip(history.versions, history.refs, strict=True))
        self._queries: tuple[TriggerQuery, ...] = ()
        self._measured: list[Entry] = []
        self.name = skill

    def read_queries(self, folder: str) -> None:
        """Reads the requests, of this folder or of the bad version."""
        if folder:
            entry = entry_in(self._app, folder)
            self.name, self._queries = entry.name, read_queries(DiskFiles(entry.folder), skill=entry.name)
            return
        with try_skill(list(self._refs.values())[-1], self._access, skill=self._skill) as trial:
            self.name, self._queries = trial.name, read_queries(DiskFiles(trial.folder), skill=trial.name)

    async def measure(self, version: str) -> TriggerReport:
        with try_skill(self._refs[version], self._access, skill=self._skill) as trial:
            entry = entry_in(self._app, trial.folder)
            judge = self._judge(entry)
            at_once = self._agent.jobs if self._agent else 1
            return await run_triggers(entry.name, self._queries, judge, runs=self._runs, at_once=at_once)

    def _judge(self, entry: Entry) -> AgentTriggerJudge | RankerTriggerJudge:
        if self._agent:
            return AgentTriggerJudge(self._agent.runner, entry)
        # A version must not compete with those that were measured before it.
        others = [*self._app.catalog.entries, *self._measured]
        self._measured.append(entry)
        return RankerTriggerJudge(selector_with(self._app.skills.selector, [entry], others), entry)


def _locked(app: App, name: str) -> LockEntry | None:
    """Returns the lock's entry of an installed skill whose source has other versions."""
    for store in app.installation.stores():
        entry = store.lock().get(name)
        if entry and entry.origin.kind in (*REGISTRY_KINDS, "git"):
            return entry
    return None


def _folder_of(app: App, target: str) -> str:
    """Returns the folder of a skill that is on this machine by name; empty if the target is a path or a ref."""
    found = app.catalog.get(target)
    if found is None and not any(mark in target for mark in "/:.\\"):
        raise NotFoundError(
            f"no skill is named {target!r}", hint="name an installed skill, a folder, r9s:NAME or owner/repo/path"
        )
    return found.folder if found else ""


def _lines(report: BisectReport, history: SkillHistory, terminal: Terminal) -> Iterator[str]:
    name = terminal.paint(one_line(report.skill), "bold")
    count = plural(len(history.versions), "version")
    yield f"{name}  {count}, {len(report.steps)} measured, by the {one_line(report.judge)}"
    for step in _in_order(report.steps, history.versions):
        sign = terminal.paint("✓", "green") if step.good else terminal.paint("✗", "red")
        passed = len(step.report.rows) - len(step.report.failures)
        yield f"  {sign} {one_line(step.version)}  {passed} of {plural(len(step.report.rows), 'request')}"
    yield f"First bad version: {terminal.paint(one_line(report.first_bad), 'bold')}, after {one_line(report.last_good)}"
    for query in report.broken:
        yield f"  broken: {one_line(query)}"


def _in_order(steps: Sequence[BisectStep], versions: Sequence[str]) -> list[BisectStep]:
    return sorted(steps, key=lambda step: versions.index(step.version))
