"""`metier registry export`."""

from __future__ import annotations

import asyncio

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import one_line, plural

from .location import blobs_option, db_option, existing_registry

__all__ = ["export"]


@command("registry", "export")
@click.argument("folder", type=click.Path(file_okay=False))
@click.argument("names", nargs=-1, metavar="[NAME]...")
@db_option
@blobs_option
def export(app: App, *, folder: str, names: tuple[str, ...], db: str | None, blobs: str | None) -> Result:
    """Write the public skills as a static folder, .well-known/agent-skills, for any web server.

    The newest version of each skill is written, or only of those that you name. A repeated export also deletes the archives of
    skills that are no longer in it.
    """
    location = existing_registry(app, db=db, blobs=blobs)
    from metier.registry import export_static

    done = asyncio.run(export_static(location, folder, names))
    lines = [f"Exported {plural(len(done.skills), 'skill')} to {one_line(done.index)}"]
    lines += [f"  removed {one_line(name)}" for name in done.removed]
    lines += [f"  serve {one_line(folder)}; clients install from its address: metier install https://HOST"]
    data = {"index": done.index, "skills": list(done.skills), "removed": list(done.removed)}
    return Result(data=data, lines=lambda _terminal: iter(lines))
