"""`metier skill delete`: a skill's folder, gone whole or not at all."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile

import click

from metier.app import App
from metier.catalog import Entry, Source
from metier.errors import Ambiguous, BadUsage, Refused, SkillNotFound

from .completion import skill_names
from .find import entry_named
from .result import Result
from .run import command
from .terminal import shown

__all__ = ["delete"]


@command("skill", "delete")
@click.argument("name", metavar="NAME|FOLDER", shell_complete=skill_names)
@click.option(
    "--source",
    type=click.Choice([source.value for source in Source if source is not Source.BUNDLED]),
    help="Which one, if several have the name.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(app: App, *, name: str, source: str | None, yes: bool) -> Result:
    """Delete a skill's folder, after asking."""
    entry = _chosen(app, name, source)
    if entry.source is Source.BUNDLED:
        raise Refused(f"{name} is bundled with metier", rule="bundled", hint=f"`metier skill disable {name}` switches it off")
    files = sum(len(names) for _, _, names in os.walk(entry.folder))
    data = {"name": entry.name, "folder": entry.folder, "files": files}
    if not yes:
        if not sys.stdin.isatty():
            raise BadUsage(f"deleting {name} needs a yes", hint="add --yes")
        if not click.confirm(f"Delete {shown(entry.folder)} with {files} files?", err=True):
            return Result(data={**data, "deleted": False}, lines=lambda _: (shown(f"kept {entry.name}"),), status=1)
    _remove(entry.folder)
    line = shown(f"deleted {entry.name} ({entry.folder}, {files} files)")
    return Result(data={**data, "deleted": True}, lines=lambda _: (line,))


def _chosen(app: App, name: str, source: str | None) -> Entry:
    entries = [entry for entry in app.catalog.entries if entry.name == name and source in (None, entry.source)]
    if os.sep in name:
        entries = [entry for entry in app.catalog.entries if entry.folder == os.path.abspath(os.path.join(app.folder, name))]
    mine = [entry for entry in entries if entry.source is not Source.BUNDLED]
    if len(mine) > 1:
        places = sorted({str(entry.source) for entry in mine})
        hint = f"say which with --source: {', '.join(places)}" if len(places) > 1 else "name its folder instead"
        folders = ", ".join(entry.folder for entry in mine)
        raise Ambiguous(f"several skills are named {name!r}: {folders}", hint=hint)
    if source and not mine:
        # Never another one of that name: what was asked for is not here.
        raise SkillNotFound(name, hint=f"there is none of that name among the {source} skills")
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
