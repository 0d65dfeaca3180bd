"""`metier skill sync`: every agent sees again what the lock says it should."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line
from metier.install.targets.agents_md import with_skills
from metier.install.transaction.steps import changes
from metier.sources import file_lock, replace_bytes

from .install_common import chosen_stores, scope_options, step_lines, step_row

__all__ = ["sync"]


@command("skill", "sync")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--agents-md", is_flag=True, help="Also list the project's skills in AGENTS.md, between two marks.")
@scope_options
def sync(app: App, *, dry_run: bool, agents_md: bool, project: bool, user: bool) -> Result:
    """Make links and copies again that agents lost, and drop those that are no longer meant.

    With --agents-md, AGENTS.md gets a list of the project's skills for agents that know no skills; the rest of the file stays
    as it is.
    """
    done = [(store, store.sync(dry_run=dry_run)) for store in chosen_stores(app, project=project, user=user)]
    written = _write_agents_md(app, dry_run=dry_run) if agents_md else None
    data: dict[str, Any] = {"dry_run": dry_run, "steps": [step_row(step) for _, outcome in done for step in outcome.steps]}
    if written is not None:
        data["agents_md"] = written

    def lines(terminal: Terminal) -> Iterator[str]:
        for _, outcome in done:
            yield from step_lines(outcome, terminal, app.paths.user_home)
        if written is not None:
            yield one_line(f"{written['file']}: {written['skills']} skills" + ("" if written["changed"] else ", as it was"))
        count = sum(len(changes(outcome.steps)) for _, outcome in done)
        yield terminal.paint(f"{count} {'to repair' if dry_run else 'repaired'}", "dim")

    return Result(data=data, lines=lines)


def _write_agents_md(app: App, *, dry_run: bool) -> dict[str, Any]:
    file = Path(app.folder) / "AGENTS.md"
    below = app.folder + os.sep
    # Only what is in the project: the file is shared, and nobody else has this user's folders.
    skills = [
        (entry.name, entry.description, os.path.relpath(entry.location, app.folder))
        for entry in app.catalog.entries
        if entry.is_for_models and entry.folder.startswith(below)
    ]
    with file_lock(app.paths.cache("agents-md")):
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        after = with_skills(before, sorted(skills), file=str(file))
        if after != before and not dry_run:
            replace_bytes(str(file), after.encode(), mode=file.stat().st_mode & 0o777 if file.exists() else 0o644)
    return {"file": str(file), "skills": len(skills), "changed": after != before}
