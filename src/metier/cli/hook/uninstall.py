"""`metier hook uninstall`: remove the prompt hook from other agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.host_changes import diff_lines
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line
from metier.hosts import PROMPT_HOOKS
from metier.install import HostFileChange, apply_change, plan_removal

from .places import complete_hook_agents, hook_agents, hook_place

__all__ = ["uninstall"]


@command("hook", "uninstall")
@click.argument("agents", nargs=-1, metavar="[AGENT]...", shell_complete=complete_hook_agents)
@click.option("--project", is_flag=True, help="Change the agent's file of this project.")
@click.option("--dry-run", is_flag=True, help="Show the change and write nothing.")
def uninstall(app: App, *, agents: tuple[str, ...], project: bool, dry_run: bool) -> Result:
    """Remove the hook from your agents, or from those named.

    If the agent's file is as `metier hook install` left it, it gets back the exact text that it had before. Otherwise only the
    hook's own entry is removed.
    """
    names = hook_agents(app, agents) if agents else tuple(PROMPT_HOOKS)
    changes = {name: _plan(app, name, project=project) for name in names}
    found = {name: change for name, change in changes.items() if change.is_needed}
    if not dry_run:
        for change in found.values():
            apply_change(change, lock=app.paths.at("hooks"))
            app.router.records.forget_change(change.file)
    rows = [{"agent": name, "file": change.file, "changed": change.is_needed} for name, change in changes.items()]
    return Result(
        data={"project": project, "dry_run": dry_run, "agents": rows},
        lines=lambda terminal: _lines(found, terminal, dry_run=dry_run),
    )


def _plan(app: App, agent: str, *, project: bool) -> HostFileChange:
    place = hook_place(app, agent, project=project)
    known = app.router.records.change_of(place.file)
    recorded = HostFileChange(file=place.file, before=known[0], after=known[1]) if known else None
    return plan_removal(place, recorded)


def _lines(found: Mapping[str, HostFileChange], terminal: Terminal, *, dry_run: bool) -> Iterator[str]:
    if not found:
        yield "No agent has the hook."
    for name, change in found.items():
        done = "removed" if change.after is None else "changed"
        verb = f"would be {done}" if dry_run else done
        yield f"{terminal.paint(name, 'bold')}: {one_line(change.file)} {verb}"
        if dry_run:
            yield from diff_lines(change, terminal)
