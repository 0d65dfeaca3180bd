"""`metier skill delete`: delete a skill's folder, and its entry in the lock if it was installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from metier.app import App
from metier.catalog import Entry, Source
from metier.cli.completion import skill_names, target_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import entry_named
from metier.cli.core.terminal import one_line, plural
from metier.errors import AmbiguousError, RefusedError, SkillNotFoundError, UsageError
from metier.install import SkillStore, Verb, read_targets
from metier.install import remove as remove_installed
from metier.sources import BUNDLED, delete_skill_folder

__all__ = ["delete", "delete_options", "delete_skill"]


def delete_options(function: Callable[..., Result]) -> Callable[..., Result]:
    """Adds the argument and the options of `metier skill delete` and `metier skill remove`."""
    sources = [source.value for source in Source if source not in (Source.BUNDLED, Source.MCP)]
    for decorate in (
        click.option(
            "--target",
            "targets",
            multiple=True,
            shell_complete=target_names,
            help="Remove it only from these agents: cursor,codex,…",
        ),
        click.option("--force", is_flag=True, help="Delete it even if another installed skill needs it."),
        click.option("-y", "--yes", is_flag=True, help="Do not ask."),
        click.option("--source", type=click.Choice(sources), help="Which one to delete if several have the name."),
        click.argument("name", metavar="NAME|FOLDER", shell_complete=skill_names),
    ):
        function = decorate(function)
    return function


@command("skill", "delete")
@delete_options
def delete(app: App, *, name: str, source: str | None, yes: bool, force: bool, targets: tuple[str, ...]) -> Result:
    """Delete a skill's folder, after asking. An installed skill is also removed from the lock and from every agent.

    With --target, an installed skill stays, and is only removed from these agents.
    """
    return delete_skill(app, name, source=source, yes=yes, force=force, targets=targets)


def delete_skill(app: App, name: str, *, source: str | None, yes: bool, force: bool, targets: tuple[str, ...]) -> Result:
    owner = _owner(app, name, source)
    if targets:
        if owner is None:
            raise UsageError(f"{name} was not installed for any agent", hint="--target is for installed skills")
        return _remove_from_targets(*owner, targets)
    if owner is not None:
        return _uninstall(app, *owner, yes=yes, force=force)
    entry = _choose(app, name, source)
    if entry.source is Source.BUNDLED:
        raise RefusedError(
            f"{name} is bundled with metier", rule="bundled", hint=f"`metier skill disable {name}` switches it off"
        )
    if entry.source is Source.MCP:
        raise RefusedError(
            f"{name} is on an MCP server", rule="mcp", hint=f"`metier skill disable {name}` switches it off here"
        )
    files = sum(len(names) for _, _, names in os.walk(entry.folder))
    data = {"name": entry.name, "folder": entry.folder, "files": files}
    if not yes and not _confirm(name, f"Delete {entry.folder} with {plural(files, 'file')}?"):
        return _kept(data)
    delete_skill_folder(entry.folder, inside=app.paths.inside(entry.folder))
    line = one_line(f"Deleted {entry.name} ({entry.folder}, {plural(files, 'file')})")
    return Result(data={**data, "deleted": True}, lines=lambda _: (line,))


def _owner(app: App, name: str, source: str | None) -> tuple[SkillStore, str] | None:
    """Returns the store that installed it and its name there; None if it was not installed."""
    stores = app.installation.stores()
    owned = {
        os.path.realpath(path): (store, entry.name)
        for store in stores
        for entry in store.lock()
        for path in store.place(entry).paths
    }
    try:
        owner = owned.get(_choose(app, name, source).folder)
        # `NAME@VERSION` is that version only, also if it is the one that has the skill's own folder.
        return (owner[0], name) if owner and "@" in name and name in owner[0].lock() else owner
    except SkillNotFoundError:
        # Its folder is gone, but it is still in the lock.
        return next(((store, name) for store in stores if name in store.lock()), None)
    except AmbiguousError:
        folder = {entry.folder for entry in app.catalog.entries if entry.name == name and source in (None, entry.source)}
        # The copies that one installation made are the same skill.
        owners = {owned.get(each) for each in folder if not each.startswith(BUNDLED)}
        bases = {(owner[0], owner[1].partition("@")[0]) for owner in owners if owner}
        if len(bases) == 1 and None not in owners:
            return bases.pop()
        raise


def _remove_from_targets(store: SkillStore, name: str, words: tuple[str, ...]) -> Result:
    targets = read_targets(words, store.scope)
    outcome = store.remove_targets(name, targets)
    left = outcome.lock[name].targets
    shared = [each for each in targets if store.scope.folder_of(each) == store.scope.shared and left]
    notes = tuple(f"{each} still sees {name}: it reads {store.scope.shared}, which other agents use too" for each in shared)
    data = {"name": name, "deleted": False, "taken_from": list(targets), "targets": list(left),
            "paths": [step.path for step in outcome.steps if step.verb is not Verb.KEEP]}  # fmt: skip
    line = one_line(f"Removed {name} from {', '.join(targets)}; still available in {', '.join(left) or 'metier'}")
    return Result(data=data, lines=lambda _: (line,), notes=notes)


def _uninstall(app: App, store: SkillStore, name: str, *, yes: bool, force: bool) -> Result:
    lock = store.lock()
    planned = remove_installed(store, [name], force=force, dry_run=True)
    folder = store.folder_of(lock[name])
    versions = lock.versions(name) if "@" not in name else (lock[name],)
    files = sum(len(entry.files) for entry in versions)
    data = {"name": name, "folder": folder, "files": files, "scope": store.scope.level}
    edited = [step.note for step in planned.steps if step.note]
    more = f" ({'; '.join(edited)})" if edited else ""
    more = f" in {len(versions)} versions{more}" if len(versions) > 1 else more
    if not yes and not _confirm(name, f"Delete {folder} with {plural(files, 'file')}{more}?"):
        return _kept(data)
    (outcome,) = app.remove(name, stores=[store], force=force)
    notes = tuple(f"{step.path}: {step.note}" for step in outcome.steps if step.verb is Verb.KEEP and step.note)
    gone = [step.path for step in outcome.steps if step.verb is not Verb.KEEP]
    heir = outcome.lock.get(lock[name].name)
    what = f"; {heir.name} is {heir.version} now" if heir else f" ({', '.join(gone) or 'its folder was already gone'})"
    line = one_line(f"Deleted {name}{what}")
    return Result(data={**data, "deleted": True, "paths": gone}, lines=lambda _: (line,), notes=notes)


def _confirm(name: str, question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(f"deleting {name} needs confirmation", hint="add --yes")
    return click.confirm(one_line(question), err=True)


def _kept(data: dict[str, Any]) -> Result:
    return Result(data={**data, "deleted": False}, lines=lambda _: (one_line(f"Kept {data['name']}"),), status=1)


def _choose(app: App, name: str, source: str | None) -> Entry:
    entries = [entry for entry in app.catalog.entries if entry.name == name and source in (None, entry.source)]
    if os.sep in name:
        entries = [entry for entry in app.catalog.entries if entry.folder == os.path.abspath(os.path.join(app.folder, name))]
    mine = [entry for entry in entries if entry.source is not Source.BUNDLED]
    if len(mine) > 1:
        places = sorted({str(entry.source) for entry in mine})
        hint = f"choose one with --source: {', '.join(places)}" if len(places) > 1 else "name its folder instead"
        folders = ", ".join(entry.folder for entry in mine)
        raise AmbiguousError(f"several skills are named {name!r}: {folders}", hint=hint)
    if source and not mine:
        # Not another skill of that name: the one that was asked for is not here.
        raise SkillNotFoundError(name, hint=f"no {source} skill has that name")
    return (mine or entries or [entry_named(app, name)])[0]
