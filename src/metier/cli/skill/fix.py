"""`metier skill fix`: repair mechanical mistakes, and keep every other byte."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click

from metier.app import App
from metier.cli.completion import skills_or_paths
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import folders_named, refuse_links_out
from metier.cli.core.terminal import Terminal, one_line, paint_diff, plural
from metier.sources import SkillFix, fix_skill_folder

__all__ = ["fix"]


@command("skill", "fix")
@click.argument("targets", nargs=-1, metavar="[NAME|PATH]...", shell_complete=skills_or_paths)
@click.option("--dry-run", is_flag=True, help="Show what would change without changing it.")
def fix(app: App, *, targets: tuple[str, ...], dry_run: bool) -> Result:
    """Repair mechanical mistakes, and keep every other byte.

    Quotes values with a colon, writes allowed-tools and metadata in the form of the standard, sets the name to the folder's,
    and removes a byte order mark. Exits with 1 if a skill is still not valid.
    """
    refuse_links_out(app, targets)
    fixes = [fix_skill_folder(folder, dry_run=dry_run) for folder in folders_named(app, targets)]
    failed = sum(one.errors_left > 0 for one in fixes)
    data = {
        "dry_run": dry_run, "skills": [_row(one) for one in fixes], "changed": sum(bool(one.changes) for one in fixes),
        "failed": failed,
    }  # fmt: skip

    def lines(terminal: Terminal) -> Iterator[str]:
        for one in fixes:
            yield from _lines(one, terminal, dry_run=dry_run)

    return Result(data=data, lines=lines, status=1 if failed else 0)


def _row(one: SkillFix) -> dict[str, Any]:
    changes = [{"code": change.code, "line": change.line, "message": change.message} for change in one.changes]
    return {
        "folder": one.folder, "changes": changes, "diff": one.diff, "ok": not one.errors_left, "left": one.errors_left,
    }  # fmt: skip


def _lines(one: SkillFix, terminal: Terminal, *, dry_run: bool) -> Iterator[str]:
    name = one_line(os.path.basename(one.folder))
    count = plural(len(one.changes), "change")
    yield f"{name}: {'would make ' if dry_run else ''}{count}" if one.changes else f"{name}: nothing to repair"
    for change in one.changes:
        yield f"  line {change.line}: {change.code}: {one_line(change.message)}"
    if dry_run and one.diff:
        yield from paint_diff(one.diff.split("\n"), terminal)
    if one.errors_left:
        remain = "remains" if one.errors_left == 1 else "remain"
        yield f"  {plural(one.errors_left, 'error')} {remain}; see `metier skill validate {name}`"
