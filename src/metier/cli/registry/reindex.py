"""`metier registry reindex`."""

from __future__ import annotations

import asyncio

from metier.app import App
from metier.cli.core.bulk_options import jobs_option, on_option
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import plural

from .location import blobs_option, db_option, existing_registry

__all__ = ["reindex"]


@command("registry", "reindex")
@jobs_option
@on_option
@db_option
@blobs_option
def reindex(app: App, *, jobs: int | None, where: str | None, db: str | None, blobs: str | None) -> Result:
    """Write the search index of every package again, from its current release.

    Use it if the search misses words that a package has. Exits with 1 if an archive could not be read.
    """
    location = existing_registry(app, db=db, blobs=blobs)
    from metier.bulk import open_map
    from metier.cli.core.progress import progress
    from metier.registry import reindex_packages, statistics

    on = open_map(where or "local", jobs=jobs)
    total = asyncio.run(statistics(location))["releases"]
    with progress("indexing", total) as advance:
        done = asyncio.run(reindex_packages(location, on=on, advance=advance))
    return Result(
        data={"indexed": done.indexed, "failed": [{"release": name, "reason": reason} for name, reason in done.failed]},
        lines=lambda _: (f"Indexed {plural(done.indexed, 'package')}",),
        notes=tuple(f"{name} was not indexed: {reason}" for name, reason in done.failed),
        status=1 if done.failed else 0,
    )
