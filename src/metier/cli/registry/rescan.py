"""`metier registry rescan`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from metier.app import App
from metier.cli.core.bulk_options import jobs_option, journal_option, on_option, opened_journal
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import one_line, plural

from .location import blobs_option, check_exists, db_option, server_options

if TYPE_CHECKING:
    from metier.registry import RescanResult

__all__ = ["rescan"]

_MOST_SHOWN = 20


@command("registry", "rescan")
@click.option("--dry-run", is_flag=True, help="Show what would change, but change nothing.")
@jobs_option
@on_option
@journal_option
@db_option
@blobs_option
def rescan(
    app: App, *, dry_run: bool, jobs: int | None, where: str | None, journal_file: str | None, db: str | None, blobs: str | None
) -> Result:
    """Scan every release again with the rules of today, beside the server or without it.

    A release that is now blocked is quarantined; a release whose result is the same stays as it is, also if an administrator
    has put it online. Exits with 1 if a release could not be scanned.
    """
    more = {}
    if app.settings.boolean("registry.run_uploads"):
        from metier.app import RUN_UPLOADS

        more["scanner"] = RUN_UPLOADS
    options = server_options(app, db=db, blobs=blobs, **more)
    # Imported here: the command line starts without the registry.
    from metier.bulk import open_map
    from metier.cli.core.progress import progress
    from metier.registry import RegistryLocation, Rescan, rescan_releases, statistics

    location = RegistryLocation(options.db, options.blobs)
    check_exists(location)
    on = open_map(where or "local", jobs=jobs)
    total = asyncio.run(statistics(location))["releases"]
    with progress("scanning", total) as advance, opened_journal(app, journal_file, Rescan) as journal:
        done = asyncio.run(
            rescan_releases(location, on=on, scanner=options.scanner, journal=journal, dry_run=dry_run, advance=advance)
        )
    data = {
        "counts": done.counts,
        "changed": [{"release": row.release, "before": row.before, "after": row.after} for row in done.changed],
        "failed": [{"release": name, "reason": reason} for name, reason in done.failed],
        "dry_run": dry_run,
    }
    notes = tuple(f"{name} was not scanned: {reason}" for name, reason in done.failed)
    return Result(data=data, lines=lambda _: _lines(done, dry_run=dry_run), notes=notes, status=1 if done.failed else 0)


def _lines(done: RescanResult, *, dry_run: bool) -> Iterator[str]:
    for row in done.changed[:_MOST_SHOWN]:
        held = " (would be quarantined)" if dry_run else " (quarantined)"
        yield f"{one_line(row.release)}: {row.before} -> {row.after}{held if row.after == 'block' else ''}"
    if len(done.changed) > _MOST_SHOWN:
        yield f"and {len(done.changed) - _MOST_SHOWN} more; use --json to see all"
    verdicts = ", ".join(f"{number} {verdict}" for verdict, number in sorted(done.counts.items()))
    yield f"Scanned {plural(sum(done.counts.values()), 'release')}" + (f": {verdicts}" if verdicts else "")
