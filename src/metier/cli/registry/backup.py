"""`metier registry backup`."""

from __future__ import annotations

import asyncio

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result

from .location import blobs_option, copy_result, db_option, existing_registry, show_progress

__all__ = ["backup"]


@command("registry", "backup")
@click.argument("folder", type=click.Path(file_okay=False))
@db_option
@blobs_option
def backup(app: App, *, folder: str, db: str | None, blobs: str | None) -> Result:
    """Copy a registry into a folder, also while it is running. A repeated backup copies only new archives."""
    location = existing_registry(app, db=db, blobs=blobs)
    from metier.registry import backup as run

    return copy_result(f"Backed up to {folder}", asyncio.run(run(location, folder, on_progress=show_progress)))
