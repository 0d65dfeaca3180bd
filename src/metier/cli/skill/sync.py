"""`metier skill sync`: recreates the links and copies of installed skills in the folders of other agents."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, plural
from metier.install import AgentsMd, changes, write_agents_md

from .install_common import chosen_stores, result_row, scope_options, step_lines

__all__ = ["sync"]


@command("skill", "sync")
@click.option("--dry-run", is_flag=True, help="Show what would change and change nothing.")
@click.option("--agents-md", is_flag=True, help="Also list the project's skills in AGENTS.md, between two markers.")
@scope_options
def sync(app: App, *, dry_run: bool, agents_md: bool, project: bool, user: bool) -> Result:
    """Recreate links and copies that agents lost, and remove those that no longer belong.

    With --agents-md, AGENTS.md gets a list of the project's skills for agents that know no skills; the rest of the file is not
    changed.
    """
    results = [store.sync(dry_run=dry_run) for store in chosen_stores(app, project=project, user=user)]
    written = _write_agents_md(app, dry_run=dry_run) if agents_md else None
    data: dict[str, Any] = {"dry_run": dry_run, "steps": result_row(*results)["steps"]}
    if written is not None:
        data["agents_md"] = {"file": written.file, "skills": written.skills, "changed": written.changed}

    def lines(terminal: Terminal) -> Iterator[str]:
        for result in results:
            yield from step_lines(result, terminal, app.paths.user_home)
        if written is not None:
            yield one_line(f"{written.file}: {plural(written.skills, 'skill')}{'' if written.changed else ', unchanged'}")
        count = sum(len(changes(result.steps)) for result in results)
        yield terminal.paint(f"{'Would repair' if dry_run else 'Repaired'} {plural(count, 'path')}", "dim")

    return Result(data=data, lines=lines)


def _write_agents_md(app: App, *, dry_run: bool) -> AgentsMd:
    # Only skills in the project: other people share the file, and do not have this user's folders.
    project = app.paths.install_project
    inside = project + os.sep
    skills = [
        (entry.name, entry.description, os.path.relpath(entry.location, project))
        for entry in app.catalog.entries
        if entry.is_for_models and entry.folder.startswith(inside)
    ]
    return write_agents_md(project, skills, lock_file=app.paths.cache("agents-md"), dry_run=dry_run)
