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
from metier.errors import UsageError
from metier.install import Edits, InstallOptions, InstallResult, SkillStore, SkillUpdate, abort_updates
from metier.values import replace

from .install_common import (
    access_of,
    access_options,
    chosen_scope,
    enumerated,
    explain_not_installed,
    fetch_progress,
    prepare_after,
    project_phrase,
    result_row,
    saved_lines,
    scope_options,
    step_lines,
    takeover_notes,
    with_packages,
)
from .install_prompts import wider_prompt

__all__ = ["update"]

_MOST_DIFF = 200
_Updated = tuple[SkillStore, tuple[SkillUpdate, ...], InstallResult]


@command("skill", "update")
@click.argument("names", nargs=-1, shell_complete=skill_names)
@click.option("--dry-run", is_flag=True, help="Show what would change and change nothing.")
@click.option("--keep", is_flag=True, help="Where you and the new version changed the same lines, keep yours.")
@click.option("--theirs", is_flag=True, help="Where you and the new version changed the same lines, take the new ones.")
@click.option("--force", is_flag=True, help="Discard your edits.")
@click.option("--abort", is_flag=True, help="Undo an update that left conflicts.")
@click.option("--unsafe", is_flag=True, help="Update without a scan.")
@click.option("-y", "--yes", is_flag=True, help="Ask no questions.")
@scope_options
@access_options
def update(
    app: App,
    *,
    names: tuple[str, ...],
    dry_run: bool,
    keep: bool,
    theirs: bool,
    force: bool,
    abort: bool,
    unsafe: bool,
    yes: bool,
    project: bool,
    user: bool,
    **access: Any,
) -> Result:
    """Install the newest version of installed skills, and show what changed.

    Without NAMES, all that are not pinned. Your edits of a skill are merged with its new version. Lines that both changed are
    marked in the files: edit them and run the command again, or let --keep or --theirs decide, or undo the update with --abort.
    """
    # Any: what `access_options` parsed.
    edits = _chosen_edits(keep=keep, theirs=theirs, force=force, abort=abort)
    scope = chosen_scope(project=project, user=user)
    if abort:
        if dry_run:
            raise UsageError("--abort and --dry-run cannot be combined", hint="`metier skill update` lists the conflicts")
        return _abort(app, names, scope)
    options = InstallOptions(edits=edits, unsafe=unsafe, dry_run=dry_run, accept_wider=wider_prompt(yes=yes))
    with explain_not_installed(app, names), fetch_progress() as progress:
        updated = app.update(*names, project=scope, options=options, access=access_of(app, **access), progress=progress)
    shown = _result(app, updated, dry_run=dry_run)
    for _, updates, result in updated:
        newer = tuple(one.entry.name for one in updates if one.is_newer and one.entry.name in result.lock)
        if newer and not dry_run:
            prepared, notes = prepare_after(app, replace(result, names=newer), offline=access["offline"], can_ask=not yes)
            shown = with_packages(replace(shown, notes=(*shown.notes, *map(one_line, notes))), prepared)
    return shown


def _chosen_edits(*, keep: bool, theirs: bool, force: bool, abort: bool) -> Edits:
    if keep + theirs + force + abort > 1:
        raise UsageError("--keep, --theirs, --force and --abort cannot be combined", hint="give one of them")
    return Edits.YOURS if keep else Edits.THEIRS if theirs else Edits.OVERWRITE if force else Edits.MERGE


def _abort(app: App, names: Sequence[str], scope: bool | None) -> Result:
    restored = abort_updates(app.installation.stores(project=scope), names)
    rows = [{"name": entry.name, "scope": store.scope.level, "version": entry.version} for store, entry in restored]

    def lines(_: Terminal) -> Iterator[str]:
        yield from (one_line(f"Restored {entry.name} as it was before the update") for _, entry in restored)

    return Result(data={"restored": rows}, lines=lines)


def _result(app: App, updated: Sequence[_Updated], *, dry_run: bool) -> Result:
    rows = [_row(store, one) for store, updates, _ in updated for one in updates]
    results = [result for _, _, result in updated]
    failed = sum(bool(row["problem"]) for row in rows)
    conflicts = [row["name"] for row in rows if row["conflicts"]]

    def lines(terminal: Terminal) -> Iterator[str]:
        for _, updates, result in updated:
            for one in updates:
                yield from _update_lines(one, terminal)
            yield from step_lines(result, terminal, app.paths.user_home)
            for one in updates:
                yield from _merge_lines(one, terminal, dry_run=dry_run)
        for result in results:
            yield from saved_lines(result, app.paths.user_home)
        newer = sum(row["newer"] for row in rows)
        verb = "Would update" if dry_run else "Updated"
        current = sum(not (row["newer"] or row["problem"] or row["conflicts"]) for row in rows)
        where = project_phrase(app, *(store.scope for store, _, _ in updated))
        yield terminal.paint(f"{verb} {plural(newer, 'skill')}{where}; {current} already up to date; {failed} failed", "dim")
        if conflicts and not dry_run:
            yield _next_step(conflicts)

    has_conflicts = bool(conflicts) or any(result.has_conflicts for result in results)
    return Result(
        data={"dry_run": dry_run, "skills": rows, **result_row(*results)},
        lines=lines,
        pages=True,
        notes=(*map(one_line, app.advisories.notes), *takeover_notes(app, *results)),
        status=6 if has_conflicts else 1 if failed else 0,
    )


def _row(store: SkillStore, update: SkillUpdate) -> dict[str, Any]:
    old, new = update.entry, update.skill.entry if update.skill else update.entry
    return {
        "name": old.name, "scope": store.scope.level, "newer": update.is_newer, "problem": update.problem,
        "from": {"commit": old.origin.commit, "version": old.version, "digest": old.digest},
        "to": {"commit": new.origin.commit, "version": new.version, "digest": new.digest},
        "changed": list(update.changed), "edited": list(update.edited), "permissions": list(update.permissions),
        "new_capabilities": {kind: names for kind, names in update.wider.row().items() if names},
        "merged": list(update.merged), "conflicts": [{"path": one.path, "reason": one.reason} for one in update.conflicts],
        "resolved": update.resolved, "versions": update.versions, "diff": update.diff, "held": update.held,
    }  # fmt: skip


def _update_lines(update: SkillUpdate, terminal: Terminal) -> Iterator[str]:
    name = terminal.paint(one_line(update.entry.name), "bold")
    if update.problem:
        yield f"{terminal.paint('!', 'red')} {name}: {one_line(update.problem)}"
    if update.held:
        yield f"{terminal.paint('=', 'cyan')} {name}: newer version held back: {one_line(update.held)}"
    if not update.is_newer or update.skill is None:
        return
    named = f"{name} {one_line(update.versions)}" if update.versions else name
    yield f"{named}: {', '.join(map(one_line, update.changed))}"
    if update.wider:
        yield f"  {terminal.paint('!', 'yellow')} new: {one_line(enumerated(update.wider.words()))}"
    for permission in update.permissions:
        yield f"  {terminal.paint('!', 'yellow')} {one_line(permission)}"
    diff = update.diff.split("\n")
    yield from (f"  {line}" for line in paint_diff(diff[:_MOST_DIFF], terminal))
    if len(diff) > _MOST_DIFF:
        yield f"  … {plural(len(diff) - _MOST_DIFF, 'more line')}; --json prints all"


def _merge_lines(update: SkillUpdate, terminal: Terminal, *, dry_run: bool) -> Iterator[str]:
    name = terminal.paint(one_line(update.entry.name), "bold")
    if update.resolved:
        yield f"{terminal.paint('✓', 'green')} {name}: {'conflicts can be' if dry_run else 'conflicts'} resolved"
    if update.skill and update.skill.merge and not update.conflicts:
        verb = "your edits can be merged" if dry_run else "merged your edits"
        yield f"{terminal.paint('✓', 'green')} {name}: {verb} ({one_line(', '.join(update.edited))})"
    for one in update.conflicts:
        yield f"{terminal.paint('!', 'red')} {name}: conflict in {one_line(one.path)}: {one.reason}"


def _next_step(names: Sequence[str]) -> str:
    words = f"metier skill update {' '.join(dict.fromkeys(names))}"
    return (
        f"Next: edit the marked lines, then run `{words}`; or add --keep (your lines), --theirs (the new lines) "
        "or --abort (undo the update)"
    )
