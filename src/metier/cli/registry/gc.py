"""`metier registry gc`."""

from __future__ import annotations

import asyncio

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import one_line, plural

from .location import blobs_option, db_option, existing_registry

__all__ = ["gc"]


@command("registry", "gc")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, but delete nothing.")
@db_option
@blobs_option
def gc(app: App, *, dry_run: bool, db: str | None, blobs: str | None) -> Result:
    """Delete archives that no release uses, one day after they were written.

    Also deletes drafts after registry.draft_days, and prereleases registry.prerelease_days after they were yanked.
    """
    location = existing_registry(app, db=db, blobs=blobs)
    from metier.registry import collect_garbage

    days = {key: app.settings.number(f"registry.{key}") for key in ("draft_days", "prerelease_days")}
    done = asyncio.run(collect_garbage(location, dry_run=dry_run, **days))
    verb = "Would delete" if dry_run else "Deleted"
    line = f"{verb} {plural(done.deleted, 'archive')} ({plural(done.bytes, 'byte')}); kept {done.kept:,}"
    data = {"deleted": done.deleted, "bytes": done.bytes, "kept": done.kept, "dry_run": dry_run,
            "expired": list(done.expired)}  # fmt: skip
    return Result(data=data, lines=lambda _: (*(f"{verb} {one_line(ref)}" for ref in done.expired), line))
