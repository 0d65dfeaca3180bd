"""`metier skill optimize`: a better description from failed requests."""

from __future__ import annotations

from collections.abc import Iterator

import click

from metier.app import App
from metier.catalog import Entry
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.models import run_with_model
from metier.cli.core.progress import progress
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import entries_named, refuse_links_out
from metier.cli.core.terminal import Terminal, one_line, paint_diff, plural
from metier.errors import AmbiguousError
from metier.evals import Candidate, OptimizeResult, SkillOptimization, optimize_skill
from metier.sources import refuse_bundled
from metier.spec import SKILL_FILE

__all__ = ["optimize"]


@command("skill", "optimize")
@click.argument("target", metavar="NAME|PATH", shell_complete=skill_names)
@click.option("--write", is_flag=True, help="Write the better description into SKILL.md.")
@click.option("--offline", is_flag=True, help="Use the local ranker even if a model is set.")
@click.option("--runs", type=click.IntRange(1, 50), default=3, show_default=True, help="Runs per request with a model.")
@click.option("--rounds", type=click.IntRange(1, 20), default=5, show_default=True, help="Rounds of proposals.")
def optimize(app: App, *, target: str, write: bool, offline: bool, runs: int, rounds: int) -> Result:
    """Propose a better description from failed trigger evals.

    The requests are split in two parts. Proposals are based on the failures of one part (by the model, or from the words of
    failed requests), and the best is chosen on the other. Prints a diff; writes only with --write.
    """
    entry = _only(entries_named(app, [target]), target)
    if write:
        refuse_bundled(entry.folder)
        refuse_links_out(app, [target])
    model = None if offline else app.conversations.model()
    with progress("trying descriptions", rounds) as advance:
        optimization = run_with_model(
            model,
            lambda client: optimize_skill(
                entry, catalog=app.catalog, selector=app.skills.selector, model=client, runs=runs, rounds=rounds,
                on_progress=lambda: advance(1),
            ),
        )  # fmt: skip
    written = write and optimization.write()
    found = optimization.result
    return Result(
        data={
            "skill": entry.name, "judge": found.before.report.judge, "before": found.before.data(), "best": found.best.data(),
            "tried": [one.data() for one in found.tried], "diff": optimization.diff, "written": written,
        },
        lines=lambda terminal: _lines(optimization, terminal, write=write),
    )  # fmt: skip


def _only(entries: list[Entry], target: str) -> Entry:
    if len(entries) > 1:
        names = ", ".join(entry.name for entry in entries[:5])
        raise AmbiguousError(f"{target!r} contains {len(entries)} skills: {names}", hint="name one of them")
    return entries[0]


def _lines(optimization: SkillOptimization, terminal: Terminal, *, write: bool) -> Iterator[str]:
    found, name = optimization.result, one_line(optimization.entry.name)
    tried = len(found.tried) - 1
    title = terminal.paint(name, "bold")
    yield f"{title}  {plural(tried, 'description')} tried, by the {found.before.report.judge}"
    yield f"  now   {_rates(found.before)}"
    if not found.is_better:
        yield f"  {_why_not(found)}; keeping the current description"
        return
    yield f"  best  {_rates(found.best)}"
    yield from paint_diff(optimization.diff.split("\n"), terminal)
    yield f"{'Written to' if write else 'Use --write to write it to'} {name}/{SKILL_FILE}"


def _why_not(found: OptimizeResult) -> str:
    if found.before.report.ok:
        return "Every request passes"
    if len(found.tried) > 1:
        return "No proposal does better on held-out requests"
    return "Only held-out requests fail" if found.before.train == 1.0 else "No usable proposal"


def _rates(candidate: Candidate) -> str:
    return f"train {candidate.train:4.0%}, validation {candidate.validation:4.0%}"
