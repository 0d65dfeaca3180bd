"""`metier registry gc`."""

from __future__ import annotations

import asyncio

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import plural

from .location import blobs_option, db_option, existing_registry

__all__ = ["gc"]


@command("registry", "gc")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, but delete nothing.")
@db_option
@blobs_option
def gc(app: App, *, dry_run: bool, db: str | None, blobs: str | None) -> Result:
    """Delete archives that no release uses, one day after they were written."""
    location = existing_registry(app, db=db, blobs=blobs)
    from metier.registry import collect_garbage

    done = asyncio.run(collect_garbage(location, dry_run=dry_run))
    verb = "Would delete" if dry_run else "Deleted"
    line = f"{verb} {plural(done.deleted, 'archive')} ({plural(done.bytes, 'byte')}); kept {done.kept:,}"
    data = {"deleted": done.deleted, "bytes": done.bytes, "kept": done.kept, "dry_run": dry_run}
    return Result(data=data, lines=lambda _: (line,))
