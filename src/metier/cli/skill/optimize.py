"""`metier skill optimize`: a better description from failed requests."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import AsyncExitStack
from difflib import unified_diff

import click

from metier.app import App
from metier.catalog import Entry
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.progress import progress
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import entries_named
from metier.cli.core.terminal import Terminal, one_line, strip_control_chars
from metier.errors import AmbiguousError, RefusedError
from metier.evals import (
    Candidate,
    CountedWords,
    ModelProposals,
    OptimizeResult,
    Propose,
    judge_factory,
    optimize_description,
    read_queries,
    selector_with,
)
from metier.models import ModelChoice, ModelClient
from metier.sources import BUNDLED, DiskFiles, replace_bytes
from metier.spec import MAX_SKILL_FILE_BYTES, SKILL_FILE, replace_description

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
    if write and entry.folder.startswith(BUNDLED + os.sep):
        raise RefusedError(
            f"{entry.name} is bundled with metier", rule="bundled", hint="copy it first: `metier skill create NAME -f FILE`"
        )
    model = None if offline else app.conversations.model()
    with progress("trying descriptions", rounds) as advance:
        found = asyncio.run(_optimize(app, entry, model, runs=runs, rounds=rounds, on_progress=lambda: advance(1)))
    data = DiskFiles(entry.folder).read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES)
    changed = replace_description(data, found.best.description) if found.is_better else data
    if write and changed != data:
        replace_bytes(os.path.join(entry.folder, SKILL_FILE), changed)
    diff = _diff(data, changed, f"{entry.name}/{SKILL_FILE}")
    return Result(
        data={
            "skill": entry.name, "judge": found.before.report.judge, "before": found.before.data(), "best": found.best.data(),
            "tried": [one.data() for one in found.tried], "diff": diff, "written": write and changed != data,
        },
        lines=lambda terminal: _lines(entry.name, found, diff, terminal, write=write),
    )  # fmt: skip


async def _optimize(app: App, entry: Entry, choice: ModelChoice | None, **options: object) -> OptimizeResult:
    queries = read_queries(DiskFiles(entry.folder), skill=entry.name)
    selector = selector_with(app.skills.selector, [entry], app.catalog.entries)
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ModelClient(choice)) if choice else None
        propose: Propose = ModelProposals(model, entry.name) if model else CountedWords(entry.name)
        judge = judge_factory(entry, catalog=app.catalog, selector=selector, model=model)
        return await optimize_description(entry.name, entry.description, queries, judge=judge, propose=propose, **options)  # type: ignore[arg-type]  # its own options, passed on


def _only(entries: list[Entry], target: str) -> Entry:
    if len(entries) > 1:
        names = ", ".join(entry.name for entry in entries[:5])
        raise AmbiguousError(f"{target!r} contains {len(entries)} skills: {names}", hint="name one of them")
    return entries[0]


def _diff(before: bytes, after: bytes, name: str) -> str:
    old, new = (data.decode("utf-8", "replace").splitlines() for data in (before, after))
    return "\n".join(unified_diff(old, new, name, name, lineterm="", n=1))


def _lines(name: str, found: OptimizeResult, diff: str, terminal: Terminal, *, write: bool) -> Iterator[str]:
    title = terminal.paint(one_line(name), "bold")
    tried = len(found.tried) - 1
    yield f"{title}  {tried} description{'s' * (tried != 1)} tried, by the {found.before.report.judge}"
    yield f"  now   {_rates(found.before)}"
    if not found.is_better:
        yield f"  {_why_not(found)}; keeping the current description"
        return
    yield f"  best  {_rates(found.best)}"
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in diff.split("\n"):
        yield terminal.paint(strip_control_chars(line), styles[line[0]]) if line[:1] in styles else strip_control_chars(line)
    yield f"{'Written to' if write else 'Use --write to write it to'} {one_line(name)}/{SKILL_FILE}"


def _why_not(found: OptimizeResult) -> str:
    if found.before.report.ok:
        return "Every request passes"
    if len(found.tried) > 1:
        return "No proposal does better on held-out requests"
    return "Only held-out requests fail" if found.before.train == 1.0 else "No usable proposal"


def _rates(candidate: Candidate) -> str:
    return f"train {candidate.train:4.0%}, validation {candidate.validation:4.0%}"
