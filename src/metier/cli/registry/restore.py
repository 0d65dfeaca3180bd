"""`metier registry restore`."""

from __future__ import annotations

import asyncio

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result

from .location import blobs_option, copy_result, db_option, registry_location, show_progress

__all__ = ["restore"]


@command("registry", "restore")
@click.argument("folder", type=click.Path(file_okay=False))
@db_option
@blobs_option
def restore(app: App, *, folder: str, db: str | None, blobs: str | None) -> Result:
    """Restore a backup into an empty registry, or into the one it was made from."""
    location = registry_location(app, db=db, blobs=blobs)
    from metier.registry import restore as run

    return copy_result(f"Restored from {folder}", asyncio.run(run(folder, location, on_progress=show_progress)))
