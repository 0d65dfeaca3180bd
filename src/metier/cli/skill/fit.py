"""`metier skill fit`: make your skills fit into the list that another agent shows its model."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from difflib import unified_diff

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.host_changes import diff_lines
from metier.cli.core.host_lists import HOST_CHOICES, budget_text
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, paint_diff, plural
from metier.errors import MetierError, UsageError
from metier.evals import FitPlan, ShorterDescription, propose_fit, read_queries
from metier.hosts import HOST_ALIASES, LISTING_BUDGETS, HostSkill
from metier.install import HostFileChange, apply_change, plan_switch_off
from metier.sources import DiskFiles
from metier.spec import MAX_SKILL_FILE_BYTES, SKILL_FILE, replace_description

__all__ = ["fit"]

_MOST_SHOWN = 20


@command("skill", "fit")
@click.option("--agent", "choice", type=click.Choice(HOST_CHOICES), required=True, help="The agent whose list is too long.")
@click.option("--context", type=click.IntRange(min=1), help="Context size of its model, in tokens.  [default: of the agent]")
@click.option("--dry-run", is_flag=True, help="Show the proposal and change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def fit(app: App, *, choice: str, context: int | None, dry_run: bool, yes: bool) -> Result:
    """Propose what to switch off, so that an agent's model sees the skills that you need.

    An agent has little room for its list of skills, and cuts a longer one (`metier prompt --as AGENT` shows it). The proposal
    keeps the skills that requests need, those in their evals and those after which they were loaded in your sessions: the local
    ranker answers each request with what the model would see, before and after. Skills are switched off in the agent's own
    settings, after a question, and stay where they are. Shorter descriptions are shown as a diff, only for skills that you
    wrote, and never written.
    """
    host = HOST_ALIASES.get(choice, choice)
    skills = app.host_listings.skills_of(host)
    installed = _installed(app)
    evals, loaded = _requests(app, [skill for skill in skills if not skill.hidden])
    counts = (sum(map(len, evals.values())), sum(map(len, loaded.values())))
    plan = propose_fit(
        skills, {file: [*evals[file], *loaded[file]] for file in evals},
        lambda kept: app.host_listings.listing_of(host, kept, context=context),
        may_shorten=lambda skill: os.path.realpath(os.path.dirname(skill.file)) not in installed,
        most_description=LISTING_BUDGETS[host].most_description if host == "claude-ai" else 0,
    )  # fmt: skip
    change = None
    if plan.off:
        change = plan_switch_off(host, plan.off, home=app.paths.user_home, environment=app.environment)
    is_applied = is_shown = False
    if change is not None and not dry_run:
        if not yes:
            _require_terminal(plan)
            for line in _lines(host, plan, change, Terminal.of(sys.stderr), counts, is_applied=False, context=context):
                click.echo(line, err=True)
            is_shown = True
        if yes or _confirm(plan, change):
            apply_change(change, lock=app.paths.at("router", "hosts.lock"))
            is_applied = True

    def lines(terminal: Terminal) -> Iterator[str]:
        if not is_shown:
            yield from _lines(host, plan, change, terminal, counts, is_applied=is_applied, context=context)
        elif is_applied:
            yield from _off_lines(host, plan.off, change, terminal, is_applied=True)
        else:
            yield "Nothing was changed"

    return Result(
        data=_data(host, plan, change, counts, is_applied=is_applied),
        lines=lines,
        status=1 if change is not None and not is_applied and not dry_run else 0,
    )


def _requests(app: App, skills: Sequence[HostSkill]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Returns the requests of each SKILL.md: those of its evals, and others after which it was loaded in an agent."""
    evals = {skill.file: _eval_requests(skill) for skill in skills}
    by_name = app.recent_requests.by_loaded_skill()
    loaded = {skill.file: [text for text in by_name.get(skill.name, ()) if text not in evals[skill.file]] for skill in skills}
    return evals, loaded


def _eval_requests(skill: HostSkill) -> list[str]:
    try:
        return [query.text for query in read_queries(DiskFiles(os.path.dirname(skill.file))) if query.should_trigger]
    except (MetierError, OSError):
        # Missing, or broken, which `metier skill eval` reports.
        return []


def _installed(app: App) -> set[str]:
    """Returns the folders of the skills that were installed, which the user did not write."""
    stores = app.installation.stores()
    return {
        os.path.realpath(path) for store in stores for placed in store.place_all(store.lock()).values() for path in placed.paths
    }


def _require_terminal(plan: FitPlan) -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            f"switching off {plural(len(plan.off), 'skill')} needs confirmation", hint="add --yes, or --dry-run to see them"
        )


def _confirm(plan: FitPlan, change: HostFileChange) -> bool:
    names = ", ".join(skill.name for skill in plan.off[:_MOST_SHOWN])
    more = f" and {len(plan.off) - _MOST_SHOWN:,} more" if len(plan.off) > _MOST_SHOWN else ""
    return click.confirm(one_line(f"Switch off {names}{more} in {change.file}?"), err=True)


def _data(
    host: str, plan: FitPlan, change: HostFileChange | None, counts: tuple[int, int], *, is_applied: bool
) -> dict[str, object]:
    before, after = plan.intervals
    return {
        "agent": host,
        "limit": plan.before.limit or None,
        "unit": plan.before.unit or None,
        "cut": {
            "shortened": len(plan.before.shortened),
            "named": len(plan.before.named),
            "left_out": len(plan.before.left_out),
        },
        "requests": plan.requests,
        "requests_from": {"evals": counts[0], "transcripts": counts[1]},
        "found_before": plan.found_before,
        "found_after": plan.found_after,
        "recall_before": [round(limit, 3) for limit in before] if plan.requests else None,
        "recall_after": [round(limit, 3) for limit in after] if plan.requests else None,
        "off": [skill.name for skill in plan.off],
        "shorter": [{"name": one.skill.name, "description": one.text} for one in plan.shorter],
        "file": change.file if change else None,
        "applied": is_applied,
    }


def _lines(
    host: str, plan: FitPlan, change: HostFileChange | None, terminal: Terminal, counts: tuple[int, int], *,
    is_applied: bool, context: int | None,
) -> Iterator[str]:  # fmt: skip
    yield f"{terminal.paint(host, 'bold')}: {budget_text(LISTING_BUDGETS[host], context)}"
    if not plan.is_cut:
        yield f"All of {plural(len(plan.before.whole), 'skill')} are shown in full; there is nothing to do"
        return
    parts = {"shortened": plan.before.shortened, "by name only": plan.before.named, "not shown": plan.before.left_out}
    cuts = ", ".join(f"{len(names):,} {part}" for part, names in parts.items() if names)
    yield f"Now: {len(plan.before.whole):,} in full, {cuts}"
    if not plan.requests:
        yield "None of these skills has trigger evals or was loaded in a session, so nothing shows which ones you need;"
        yield "nothing is switched off"
        yield "`metier skill eval NAME --init` writes a starter"
    else:
        before, after = (f"95 % interval {low:.0%} to {high:.0%}" for low, high in plan.intervals)
        yield (
            f"Requests that find their skill: {plan.found_before:,} of {plan.requests:,} now ({before}), "
            f"{plan.found_after:,} with the proposal ({after})"
        )
        yield f"The requests are {counts[0]:,} of evals and {counts[1]:,} of your sessions"
    if plan.off:
        yield from _off_lines(host, plan.off, change, terminal, is_applied=is_applied)
    elif plan.requests:
        yield "Switching skills off would not find more of them"
    for one in plan.shorter[:_MOST_SHOWN]:
        yield from paint_diff(_diff(one), terminal)
    if plan.shorter:
        yield f"Shorter descriptions for {plural(len(plan.shorter), 'skill')} that you wrote; they are not written"


def _off_lines(
    host: str, off: Sequence[HostSkill], change: HostFileChange | None, terminal: Terminal, *, is_applied: bool
) -> Iterator[str]:
    if change is None:
        yield f"{host} documents no setting that hides one skill. To make room, remove these from its folders:"
        yield from (f"  metier skill delete {one_line(skill.name)} --target {host}" for skill in off[:_MOST_SHOWN])
        return
    yield f"{'Switched off' if is_applied else 'To switch off'}: {', '.join(one_line(skill.name) for skill in off)}"
    if is_applied:
        yield f"Wrote {LISTING_BUDGETS[host].setting} in {change.file}; remove the entries there to undo it"
    else:
        yield f"This would change {change.file}:"
        yield from diff_lines(change, terminal)


def _diff(one: ShorterDescription) -> list[str]:
    old = DiskFiles(os.path.dirname(one.skill.file)).read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES)
    new = replace_description(old, one.text)
    name = f"{one.skill.name}/{SKILL_FILE}"
    before, after = (data.decode("utf-8", "replace").splitlines() for data in (old, new))
    return list(unified_diff(before, after, name, name, lineterm="", n=0))
