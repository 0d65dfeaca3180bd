"""`metier skill delete` and `remove`: a skill's folder, gone whole or not at all; an installed one leaves its lock too."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile

import click

from metier.app import App
from metier.catalog import Entry, Source
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import entry_named
from metier.cli.core.terminal import one_line
from metier.errors import AmbiguousError, RefusedError, SkillNotFoundError, UsageError
from metier.install import ScopeLevel, SkillStore, Verb, read_targets
from metier.install import remove as remove_installed
from metier.sources import BUNDLED

__all__ = ["delete"]


@command("skill", "delete")
@click.argument("name", metavar="NAME|FOLDER", shell_complete=skill_names)
@click.option(
    "--source",
    type=click.Choice([source.value for source in Source if source not in (Source.BUNDLED, Source.MCP)]),
    help="Which one, if several have the name.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--force", is_flag=True, help="Also if another installed skill needs it.")
@click.option("--target", "targets", multiple=True, help="Only take it away from these agents: cursor,codex,…")
def delete(app: App, *, name: str, source: str | None, yes: bool, force: bool, targets: tuple[str, ...]) -> Result:
    """Delete a skill's folder, after asking. An installed skill also leaves the lock and every agent that saw it.

    With --target an installed skill stays, and only these agents no longer see it.
    """
    owner = _owner(app, name, source)
    if targets:
        if owner is None:
            raise UsageError(f"{name} was not installed for any agent", hint="--target is for installed skills")
        return _taken_away(*owner, targets)
    if owner is not None:
        return _uninstall(app, *owner, yes=yes, force=force)
    entry = _chosen(app, name, source)
    if entry.source is Source.BUNDLED:
        raise RefusedError(
            f"{name} is bundled with metier", rule="bundled", hint=f"`metier skill disable {name}` switches it off"
        )
    if entry.source is Source.MCP:
        raise RefusedError(
            f"{name} is on another server", rule="mcp", hint=f"`metier skill disable {name}` switches it off here"
        )
    files = sum(len(names) for _, _, names in os.walk(entry.folder))
    data = {"name": entry.name, "folder": entry.folder, "files": files}
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(f"deleting {name} needs a yes", hint="add --yes")
        if not click.confirm(f"Delete {one_line(entry.folder)} with {files} files?", err=True):
            return Result(data={**data, "deleted": False}, lines=lambda _: (one_line(f"kept {entry.name}"),), status=1)
    _remove(entry.folder)
    line = one_line(f"deleted {entry.name} ({entry.folder}, {files} files)")
    return Result(data={**data, "deleted": True}, lines=lambda _: (line,))


def _owner(app: App, name: str, source: str | None) -> tuple[SkillStore, str] | None:
    """The store that installed it, and its name there, if nothing else can be meant."""
    stores = app.installation.stores()
    owned = {
        os.path.realpath(path): (store, entry.name)
        for store in stores
        for entry in store.lock()
        for path in store.place(entry).paths
    }
    try:
        return owned.get(_chosen(app, name, source).folder)
    except SkillNotFoundError:
        # Its folder is gone, and the lock still promises it.
        return next(((store, name) for store in stores if name in store.lock()), None)
    except AmbiguousError:
        folder = {entry.folder for entry in app.catalog.entries if entry.name == name and source in (None, entry.source)}
        # The copies that one installation made are one skill.
        owners = {owned.get(each) for each in folder if not each.startswith(BUNDLED)}
        if len(owners) == 1 and None not in owners:
            return owners.pop()
        raise


def _taken_away(store: SkillStore, name: str, words: tuple[str, ...]) -> Result:
    targets = read_targets(words, store.scope)
    outcome = store.remove_targets(name, targets)
    left = outcome.lock[name].targets
    shared = [each for each in targets if store.scope.folder_of(each) == store.scope.shared and left]
    notes = tuple(
        f"{each} still sees {name}: it reads {store.scope.shared}, where the other agents' copy is" for each in shared
    )
    data = {"name": name, "deleted": False, "taken_from": list(targets), "targets": list(left),
            "paths": [step.path for step in outcome.steps if step.verb is not Verb.KEEP]}  # fmt: skip
    line = one_line(f"{name} is no longer for {', '.join(targets)}; it stays for {', '.join(left) or 'metier'}")
    return Result(data=data, lines=lambda _: (line,), notes=notes)


def _uninstall(app: App, store: SkillStore, name: str, *, yes: bool, force: bool) -> Result:
    lock = store.lock()
    planned = remove_installed(store, [name], force=force, dry_run=True)
    folder = store.folder_of(lock[name])
    files = len(lock[name].files)
    data = {"name": name, "folder": folder, "files": files, "scope": store.scope.level}
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(f"deleting {name} needs a yes", hint="add --yes")
        edited = [step.note for step in planned.steps if step.note]
        more = f" ({'; '.join(edited)})" if edited else ""
        if not click.confirm(f"Delete {one_line(folder)} with {files} files{one_line(more)}?", err=True):
            return Result(data={**data, "deleted": False}, lines=lambda _: (one_line(f"kept {name}"),), status=1)
    (outcome,) = app.remove(name, project=store.scope.level is ScopeLevel.PROJECT, force=force)
    notes = tuple(f"{step.path}: {step.note}" for step in outcome.steps if step.verb is Verb.KEEP)
    gone = [step.path for step in outcome.steps if step.verb is not Verb.KEEP]
    line = one_line(f"deleted {name} ({', '.join(gone) or 'it was gone already'})")
    return Result(data={**data, "deleted": True, "paths": gone}, lines=lambda _: (line,), notes=notes)


def _chosen(app: App, name: str, source: str | None) -> Entry:
    entries = [entry for entry in app.catalog.entries if entry.name == name and source in (None, entry.source)]
    if os.sep in name:
        entries = [entry for entry in app.catalog.entries if entry.folder == os.path.abspath(os.path.join(app.folder, name))]
    mine = [entry for entry in entries if entry.source is not Source.BUNDLED]
    if len(mine) > 1:
        places = sorted({str(entry.source) for entry in mine})
        hint = f"say which with --source: {', '.join(places)}" if len(places) > 1 else "name its folder instead"
        folders = ", ".join(entry.folder for entry in mine)
        raise AmbiguousError(f"several skills are named {name!r}: {folders}", hint=hint)
    if source and not mine:
        # Never another one of that name: what was asked for is not here.
        raise SkillNotFoundError(name, hint=f"there is none of that name among the {source} skills")
    return (mine or entries or [entry_named(app, name)])[0]


def _remove(folder: str) -> None:
    # First out of sight in one step, so that no reader ever meets half a skill; then away.
    aside = tempfile.mkdtemp(prefix=".metier-deleted-", dir=os.path.dirname(folder))
    try:
        # No search for skills enters a folder of this name.
        os.rename(folder, os.path.join(aside, ".Trash"))
    except OSError:
        os.rmdir(aside)
        raise
    shutil.rmtree(aside)
