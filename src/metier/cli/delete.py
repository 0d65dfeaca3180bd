"""`metier skill delete`: a skill's folder, gone whole or not at all."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile

import click

from metier.app import App
from metier.catalog import Entry, Source
from metier.errors import Ambiguous, BadUsage, Refused

from .completion import skill_names
from .find import entry_named
from .result import Result
from .run import command

__all__ = ["delete"]


@command("skill", "delete")
@click.argument("name", shell_complete=skill_names)
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
    if not yes:
        if not sys.stdin.isatty():
            raise BadUsage(f"deleting {name} needs a yes", hint="add --yes")
        click.confirm(f"Delete {entry.folder} with {files} files?", abort=True, err=True)
    _remove(entry.folder)
    line = f"deleted {name} ({entry.folder}, {files} files)"
    return Result(data={"name": name, "folder": entry.folder, "files": files}, lines=lambda _: (line,))


def _chosen(app: App, name: str, source: str | None) -> Entry:
    entries = [entry for entry in app.catalog.entries if entry.name == name and source in (None, entry.source)]
    mine = [entry for entry in entries if entry.source is not Source.BUNDLED]
    if len(mine) > 1:
        places = ", ".join(sorted({str(entry.source) for entry in mine}))
        raise Ambiguous(f"several skills are named {name!r}", hint=f"say which with --source: {places}")
    return (mine or entries or [entry_named(app, name)])[0]


def _remove(folder: str) -> None:
    # First out of sight in one step, so that no reader ever meets half a skill; then away.
    aside = tempfile.mkdtemp(prefix=".metier-deleted-", dir=os.path.dirname(folder))
    os.rename(folder, os.path.join(aside, "skill"))
    shutil.rmtree(aside)
