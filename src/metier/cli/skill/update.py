"""`metier skill update`: installs newer versions and shows what changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from metier.app import App
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, paint_diff, plural
from metier.install import InstallOptions, InstallResult, SkillStore, SkillUpdate

from .install_common import (
    access_of,
    access_options,
    chosen_edits,
    chosen_scope,
    explain_not_installed,
    fetch_progress,
    result_row,
    saved_lines,
    scope_options,
    step_lines,
)

__all__ = ["update"]

_MOST_DIFF = 200
_Updated = tuple[SkillStore, tuple[SkillUpdate, ...], InstallResult]


@command("skill", "update")
@click.argument("names", nargs=-1, shell_complete=skill_names)
@click.option("--dry-run", is_flag=True, help="Show what would change and change nothing.")
@click.option("--force", is_flag=True, help="Overwrite edited skills.")
@click.option("--keep", is_flag=True, help="Update edited skills, and keep the edited version as NAME.orig.")
@click.option("--unsafe", is_flag=True, help="Update without a scan.")
@scope_options
@access_options
def update(
    app: App,
    *,
    names: tuple[str, ...],
    dry_run: bool,
    force: bool,
    keep: bool,
    unsafe: bool,
    project: bool,
    user: bool,
    **access: Any,
) -> Result:
    """Install the newest version of installed skills, and show what changed.

    Without NAMES, all that are not pinned. A skill that was edited is not updated: --force overwrites the edits, --keep updates
    it and keeps the edited version as NAME.orig.
    """
    # Any: what `access_options` parsed.
    options = InstallOptions(edits=chosen_edits(force=force, keep=keep), unsafe=unsafe, dry_run=dry_run)
    with explain_not_installed(app, names), fetch_progress() as progress:
        updated = app.update(
            *names,
            project=chosen_scope(project=project, user=user),
            options=options,
            access=access_of(app, **access),
            progress=progress,
        )
    return _result(app, updated, dry_run=dry_run)


def _result(app: App, updated: Sequence[_Updated], *, dry_run: bool) -> Result:
    rows = [_row(store, one) for store, updates, _ in updated for one in updates]
    results = [result for _, _, result in updated]
    failed = sum(bool(row["problem"]) for row in rows)

    def lines(terminal: Terminal) -> Iterator[str]:
        for _, updates, result in updated:
            for one in updates:
                yield from _update_lines(one, terminal)
            yield from step_lines(result, terminal, app.paths.user_home)
        for result in results:
            yield from saved_lines(result, app.paths.user_home)
        newer = sum(row["newer"] for row in rows)
        verb = "Would update" if dry_run else "Updated"
        current = len(rows) - newer - failed
        yield terminal.paint(f"{verb} {plural(newer, 'skill')}; {current} already up to date; {failed} failed", "dim")

    has_conflicts = any(result.has_conflicts for result in results)
    return Result(
        data={"dry_run": dry_run, "skills": rows, **result_row(*results)},
        lines=lines,
        pages=True,
        status=6 if has_conflicts else 1 if failed else 0,
    )


def _row(store: SkillStore, update: SkillUpdate) -> dict[str, Any]:
    old, new = update.entry, update.skill.entry if update.skill else update.entry
    return {
        "name": old.name, "scope": store.scope.level, "newer": update.is_newer, "problem": update.problem,
        "from": {"commit": old.origin.commit, "version": old.version, "digest": old.digest},
        "to": {"commit": new.origin.commit, "version": new.version, "digest": new.digest},
        "changed": list(update.changed), "edited": list(update.edited), "permissions": list(update.permissions),
        "diff": update.diff, "held": update.held,
    }  # fmt: skip


def _update_lines(update: SkillUpdate, terminal: Terminal) -> Iterator[str]:
    name = terminal.paint(one_line(update.entry.name), "bold")
    if update.problem:
        yield f"{terminal.paint('!', 'red')} {name}: {one_line(update.problem)}"
    if update.held:
        yield f"{terminal.paint('=', 'cyan')} {name}: newer version held back: {one_line(update.held)}"
    if not update.is_newer or update.skill is None:
        return
    old, new = update.entry, update.skill.entry
    versions = [f"{old.version} -> {new.version}"] if old.version != new.version else []
    commits = [f"({old.origin.commit[:10]} -> {new.origin.commit[:10]})"] if new.origin.commit else []
    yield f"{' '.join([name, *map(one_line, versions + commits)])}: {', '.join(map(one_line, update.changed))}"
    for permission in update.permissions:
        yield f"  {terminal.paint('!', 'yellow')} {one_line(permission)}"
    diff = update.diff.split("\n")
    yield from (f"  {line}" for line in paint_diff(diff[:_MOST_DIFF], terminal))
    if len(diff) > _MOST_DIFF:
        yield f"  … {plural(len(diff) - _MOST_DIFF, 'more line')}; --json prints all"
