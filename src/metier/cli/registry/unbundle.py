"""`metier registry unbundle`."""

from __future__ import annotations

import asyncio

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import one_line, plural

from .bundle import bundle_data, release_line
from .location import blobs_option, db_option, existing_registry

__all__ = ["unbundle"]


@command("registry", "unbundle")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--namespace", default="", help="Import everything into this namespace.  [default: as in the bundle]")
@click.option("--accept-keys", is_flag=True, help="Add signing keys to namespaces that have other keys.")
@click.option("--dry-run", is_flag=True, help="Check everything and import nothing.")
@db_option
@blobs_option
def unbundle(
    app: App, *, file: str, namespace: str, accept_keys: bool, dry_run: bool, db: str | None, blobs: str | None
) -> Result:
    """Import a file of `metier registry bundle`: all of it or nothing.

    Every digest and signature is verified, and every skill passes the checks of an upload. A version that the registry has
    with other contents is never replaced.
    """
    location = existing_registry(app, db=db, blobs=blobs)
    from metier.registry import unbundle as run

    done = asyncio.run(run(location, file, namespace=namespace, accept_keys=accept_keys, dry_run=dry_run))
    count = sum(row.created for row in done.releases)
    known = len(done.releases) - count
    verb = "Dry run: would import" if dry_run else "Imported"
    lines = [f"{verb} {plural(count, 'skill')} from {one_line(file)}" + (f"; {known} already there" if known else "")]
    lines += [release_line(row, "" if row.created else ", already there") for row in done.releases]
    lines += [f"  {'would add' if dry_run else 'added'} the signing key {key}" for key in done.keys]
    lines += [f"  sha256 {done.sha256}"]
    return Result(data={"file": file, "dry_run": dry_run, **bundle_data(done)}, lines=lambda _terminal: iter(lines))
