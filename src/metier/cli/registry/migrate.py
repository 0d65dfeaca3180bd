"""`metier registry migrate`."""

from __future__ import annotations

import asyncio

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result

from .location import check_exists, copy_result, registry_location, show_progress

__all__ = ["migrate"]


@command("registry", "migrate")
@click.option("--from", "source", nargs=2, metavar="DB BLOBS", help="Two addresses.  [default: the configured registry]")
@click.option("--to", "target", nargs=2, required=True, metavar="DB BLOBS", help="Two addresses.")
def migrate(app: App, *, source: tuple[str, str] | None, target: tuple[str, str]) -> Result:
    """Copy a registry to other engines: SQLite to PostgreSQL, files to S3, or back.

    The target gets one moment of the source: the archives, compared by their digests, then all rows in one transaction.
    Stop the server first if later publishes must not be left behind. An interrupted copy can be repeated.
    """
    location = registry_location(app)
    from metier.registry import RegistryLocation
    from metier.registry import migrate as run

    start = RegistryLocation(*source) if source else location
    check_exists(start)
    return copy_result("Copied", asyncio.run(run(start, RegistryLocation(*target), on_progress=show_progress)))
