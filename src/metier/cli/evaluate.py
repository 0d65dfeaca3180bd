"""`metier skill eval`: does a skill trigger when it should, and does it help when it does?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from metier.app import App
from metier.catalog import Entry
from metier.errors import NotFound
from metier.evals.files import Query, balance, read_queries
from metier.evals.junit import junit_triggers
from metier.evals.ranking import Ranking, contest
from metier.evals.triggers import Row, Split, TriggerReport, run_triggers
from metier.sources import DiskFiles
from metier.sources.atomic import replace_bytes

from .completion import skill_names
from .find import entries_named
from .progress import progress
from .result import Result
from .run import command
from .terminal import Terminal, clipped, shown

__all__ = ["evaluate"]


@command("skill", "eval")
@click.argument("targets", nargs=-1, metavar="[NAME|PATH]...", shell_complete=skill_names)
@click.option("--runs", type=click.IntRange(1, 50), default=3, show_default=True, help="How often a model is asked each.")
@click.option("--junit", type=click.Path(dir_okay=False), help="Also write the trigger results to this file, as JUnit XML.")
@click.option("-v", "--verbose", is_flag=True, help="List the requests that passed too.")
def evaluate(app: App, *, targets: tuple[str, ...], runs: int, junit: str | None, verbose: bool) -> Result:
    """Measure whether a skill triggers when it should.

    Its evals/eval_queries.json holds requests and whether the skill should be picked for each. They are put to the local
    ranker, among all installed skills. Ends with 1 when one fails.
    """
    reports = _triggered(app, targets, runs)
    if junit:
        replace_bytes(str(Path(app.folder, junit)), junit_triggers(reports).encode(), mode=0o644)
    failed = sum(len(report.failures) for report in reports)
    return Result(
        data={"triggers": [report.data() for report in reports], "failed": failed},
        lines=lambda terminal: _lines(reports, terminal, verbose=verbose),
        status=1 if failed else 0,
        notes=tuple(f"{report.skill}: {note}" for report in reports for note in report.notes),
    )


def _triggered(app: App, targets: Sequence[str], runs: int) -> list[TriggerReport]:
    jobs: list[tuple[Entry, tuple[Query, ...]]] = []
    without: list[NotFound] = []
    for entry in entries_named(app, targets):
        try:
            jobs.append((entry, read_queries(DiskFiles(entry.folder), skill=entry.name)))
        except NotFound as error:
            without.append(error)
    if not jobs:
        raise without[0]
    selector = contest(app.selector, [entry for entry, _ in jobs], app.catalog.entries)

    async def all_of_them() -> list[TriggerReport]:
        return [
            await run_triggers(
                entry.name, queries, Ranking(selector, entry), runs=runs, told=lambda: told(1), notes=balance(queries)
            )
            for entry, queries in jobs
        ]

    with progress("asking", sum(len(queries) for _, queries in jobs)) as told:
        return asyncio.run(all_of_them())


def _lines(reports: Sequence[TriggerReport], terminal: Terminal, *, verbose: bool) -> Iterator[str]:
    for report in reports:
        sign = terminal.paint("✓", "green") if report.ok else terminal.paint("✗", "red")
        passed = len(report.rows) - len(report.failures)
        name = terminal.paint(shown(report.skill), "bold")
        held = " ".join(f"{split} {report.only(split).pass_rate:.0%}" for split in Split)
        yield f"{sign} {name}  {passed} of {len(report.rows)} requests ({held}), by the {report.judge}"
        for row in report.rows:
            if verbose or not row.passed:
                yield from _row_lines(report, row, terminal)


def _row_lines(report: TriggerReport, row: Row, terminal: Terminal) -> Iterator[str]:
    sign, style = ("✓", "green") if row.passed else ("✗", "red")
    kind = "should trigger" if row.should_trigger else "should not trigger"
    rate = "" if row.runs == 1 else f" {row.triggers} of {row.runs}"
    room = max(20, terminal.width - 26 - len(rate)) if terminal.width else None
    yield f"  {terminal.paint(sign, style)} {kind}{rate}: {clipped(shown(row.query), room)}"
    if not row.passed:
        if row.choice.winner != report.skill:
            yield f"      picked {shown(row.choice.winner) or 'nothing'}: {shown(row.choice.why)}"
        yield f"      {shown(report.skill)}: {shown(row.choice.own)}"
