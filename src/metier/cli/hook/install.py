"""`metier hook install`: add the prompt hook to other agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.host_changes import diff_lines
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line
from metier.errors import NotFoundError
from metier.hosts import PROMPT_HOOKS
from metier.install import HostFileChange, apply_change, hook_command, plan_hook

from .places import complete_hook_agents, hook_agents, hook_place

__all__ = ["install"]


@command("hook", "install")
@click.argument("agents", nargs=-1, metavar="[AGENT]...", shell_complete=complete_hook_agents)
@click.option("--project", is_flag=True, help="Write the agent's file of this project, which can be committed.")
@click.option("--dry-run", is_flag=True, help="Show the change and write nothing.")
def install(app: App, *, agents: tuple[str, ...], project: bool, dry_run: bool) -> Result:
    """Add the hook to your agents, or to those named.

    For each prompt the agent then asks metier which of the skills that it can see fits. If one does, its name and how to load
    it are added to the prompt, in at most 80 tokens; otherwise nothing is. The rest of the agent's file stays as it is, and
    `metier hook uninstall` restores it. To switch the hook off in one project, set router.enabled = false in its
    .metier/config.toml.
    """
    names = hook_agents(app, agents)
    if not names:
        raise NotFoundError(
            "no agent with a hook for prompts was found",
            hint=f"name one of them: metier hook install {next(iter(PROMPT_HOOKS))}",
        )
    # All changes are planned before the first is written, so that an error in one file leaves all of them unchanged.
    changes = {name: plan_hook(hook_place(app, name, project=project), hook_command(name, shared=project)) for name in names}
    if not dry_run:
        _write(app, changes, project=project)
    rows = [{"agent": name, "file": change.file, "changed": change.is_needed} for name, change in changes.items()]
    return Result(
        data={"project": project, "dry_run": dry_run, "agents": rows},
        lines=lambda terminal: _lines(changes, terminal, dry_run=dry_run),
    )


def _write(app: App, changes: Mapping[str, HostFileChange], *, project: bool) -> None:
    records = app.router.records
    for name, change in changes.items():
        if change.is_needed and change.after is not None:
            known = records.change_of(change.file)
            # Over an older hook of ours, the text before the first one is what a removal restores.
            before = known[0] if known and known[1] == change.before else change.before
            apply_change(change, lock=app.paths.at("hooks"))
            records.record_change(change.file, before, change.after)
        app.router.refresh(name, "")
        if project:
            for folder in {app.paths.install_project, app.folder}:
                app.router.refresh(name, folder)


def _lines(changes: Mapping[str, HostFileChange], terminal: Terminal, *, dry_run: bool) -> Iterator[str]:
    for name, change in changes.items():
        title = terminal.paint(name, "bold")
        if not change.is_needed:
            yield f"{title}: already in {one_line(change.file)}"
            continue
        yield f"{title}: {'would write' if dry_run else 'wrote'} {one_line(change.file)}"
        if dry_run:
            yield from diff_lines(change, terminal)
        elif PROMPT_HOOKS[name].note:
            yield f"  {PROMPT_HOOKS[name].note}"
    if not dry_run and any(change.is_needed for change in changes.values()):
        yield "Restart the agents that are running. `metier hook status` shows what they see."
