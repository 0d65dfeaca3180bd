"""`metier skill update`: what is newer upstream, shown and taken; what was edited here is never lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from metier.app import App
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, strip_control_chars
from metier.errors import UsageError
from metier.install.fetch.lock_fetcher import LockFetcher
from metier.install.store import InstallOptions, InstallResult, SkillStore
from metier.install.transaction.steps import Edits, Verb
from metier.install.update import SkillUpdate
from metier.install.update import update as renewed

from .install_common import (
    access_of,
    access_options,
    chosen_stores,
    fetch_progress,
    owner_of,
    scope_options,
    short,
    step_lines,
    step_row,
)

__all__ = ["update"]

_MOST_DIFF = 200


@command("skill", "update")
@click.argument("names", nargs=-1, shell_complete=skill_names)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--force", is_flag=True, help="Overwrite what was edited here.")
@click.option("--keep", is_flag=True, help="Keep what was edited here as NAME.orig.")
@click.option("--unsafe", is_flag=True, help="Also take what the scan blocks.")
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
    """Take the newest version of installed skills, and say what changed.

    Without NAMES, all that are not pinned. A skill that was edited here is not touched: --force overwrites the edits, --keep
    takes the new version and keeps yours as NAME.orig.
    """
    # Any: what `access_options` parsed.
    if force and keep:
        raise UsageError("--force and --keep exclude each other", hint="--keep is the careful one")
    how = InstallOptions(edits=Edits.KEEP if keep else Edits.OVERWRITE if force else Edits.REFUSE, dry_run=dry_run)
    stores = chosen_stores(app, project=project, user=user)
    groups: list[tuple[SkillStore, list[str]]] = [(store, []) for store in stores]
    if names:
        owners = {name: owner_of(stores, name) for name in names}
        groups = [(store, [name for name in names if owners[name] is store]) for store in stores]
        groups = [(store, chosen) for store, chosen in groups if chosen]
    done: list[tuple[SkillStore, tuple[SkillUpdate, ...], InstallResult]] = []
    with fetch_progress() as progress:
        remotes = LockFetcher(access_of(app, **access), progress=progress)
        for store, chosen in groups:
            done.append((store, *renewed(store, remotes, chosen, how, scan=None if unsafe else app.installation.scan)))
    return _result(app, done, dry_run=dry_run)


def _result(app: App, done: list[tuple[SkillStore, tuple[SkillUpdate, ...], InstallResult]], *, dry_run: bool) -> Result:
    rows = [_row(store, renewal) for store, renewals, _ in done for renewal in renewals]
    steps = [step for _, _, outcome in done for step in outcome.steps]
    saved = [pair for _, _, outcome in done for pair in outcome.saved]
    data = {"dry_run": dry_run, "skills": rows, "steps": [step_row(step) for step in steps],
            "kept": [{"from": source, "to": kept} for source, kept in saved]}  # fmt: skip
    failed = [row for row in rows if row["problem"]]

    def lines(terminal: Terminal) -> Iterator[str]:
        for _, renewals, outcome in done:
            for renewal in renewals:
                yield from _renewal_lines(renewal, terminal)
            yield from step_lines(outcome, terminal, app.paths.user_home)
        for source, kept in saved:
            yield one_line(f"kept {short(source, app.paths.user_home)} as {short(kept, app.paths.user_home)}")
        newer = sum(row["newer"] for row in rows)
        word = "would be updated" if dry_run else "updated"
        yield terminal.paint(f"{newer} {word}, {len(rows) - newer - len(failed)} current, {len(failed)} not reached", "dim")

    conflicts = any(step.verb is Verb.CONFLICT for step in steps)
    return Result(data=data, lines=lines, pages=True, status=6 if conflicts else 1 if failed else 0)


def _row(store: SkillStore, renewal: SkillUpdate) -> dict[str, Any]:
    now = renewal.skill.entry if renewal.skill else renewal.entry
    return {
        "name": renewal.entry.name, "scope": store.scope.level, "newer": renewal.is_newer, "problem": renewal.problem,
        "from": {"commit": renewal.entry.origin.commit, "version": renewal.entry.version, "digest": renewal.entry.digest},
        "to": {"commit": now.origin.commit, "version": now.version, "digest": now.digest},
        "changed": list(renewal.changed), "edited": list(renewal.edited), "powers": list(renewal.powers), "diff": renewal.diff,
    }  # fmt: skip


def _renewal_lines(renewal: SkillUpdate, terminal: Terminal) -> Iterator[str]:
    name = terminal.paint(one_line(renewal.entry.name), "bold")
    if renewal.problem:
        yield f"{terminal.paint('!', 'red')} {name}: {one_line(renewal.problem)}"
    if not renewal.is_newer or renewal.skill is None:
        return
    old, new = renewal.entry, renewal.skill.entry
    versions = f" {old.version} -> {new.version}" if old.version != new.version else ""
    commits = f" ({old.origin.commit[:10]} -> {new.origin.commit[:10]})" if new.origin.commit else ""
    yield f"{name}{one_line(versions + commits)}: {', '.join(map(one_line, renewal.changed))}"
    for power in renewal.powers:
        yield f"  {terminal.paint('!', 'yellow')} {one_line(power)}"
    styles = {"+": "green", "-": "red", "@": "cyan"}
    diff = renewal.diff.split("\n")
    for line in diff[:_MOST_DIFF]:
        text = strip_control_chars(line)
        yield f"  {terminal.paint(text, styles[line[0]]) if line[:1] in styles else text}"
    if len(diff) > _MOST_DIFF:
        yield f"  ... {len(diff) - _MOST_DIFF} more lines; --json has all"
