"""`metier registry restore`."""

from __future__ import annotations

import asyncio
import sys

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import plural
from metier.errors import ConflictError

from .location import blobs_option, copy_result, db_option, registry_location, show_progress

__all__ = ["restore"]


@command("registry", "restore")
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("-y", "--yes", is_flag=True, help="Undo what changed since the backup, without a question.")
@db_option
@blobs_option
def restore(app: App, *, folder: str, yes: bool, db: str | None, blobs: str | None) -> Result:
    """Restore a backup into an empty registry, or into the one it was made from.

    A registry that has changed since the backup loses these changes: newer versions are gone, and tokens that were revoked are
    valid again. A terminal asks first; without one it needs --yes.
    """
    location = registry_location(app, db=db, blobs=blobs)
    from metier.registry import changes_since
    from metier.registry import restore as run

    later = 0 if yes else asyncio.run(changes_since(folder, location))
    if later:
        lost = f"{plural(later, 'change')} since the backup"
        if not sys.stdin.isatty():
            raise ConflictError(f"a restore would undo {lost}", hint="pass --yes to undo them, or restore into another --db")
        click.confirm(f"Undo {lost}?", abort=True, err=True)
    return copy_result(f"Restored from {folder}", asyncio.run(run(folder, location, on_progress=show_progress)))
