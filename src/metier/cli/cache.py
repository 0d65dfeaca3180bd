"""`metier cache`: the size of the cache of downloaded skills, and cleaning it."""

from __future__ import annotations

import click

from metier.app import App
from metier.install import read_duration

from .core.dispatch import command
from .core.result import Result
from .core.terminal import plural

__all__ = ["clean", "info"]


@command("cache", "info")
def info(app: App) -> Result:
    """Show the folder and size of the cache of downloaded skills."""
    cache = app.installation.cache
    size = cache.size()
    line = f"{cache.folder}: {plural(size.skills, 'skill')}, {_format_size(size.bytes)}"
    return Result(data={"folder": cache.folder, "skills": size.skills, "bytes": size.bytes}, lines=lambda _: (line,))


@command("cache", "clean")
@click.option("--unused-for", metavar="TIME", help="Only skills that were not used for this long, such as 30d or 12h.")
def clean(app: App, *, unused_for: str | None) -> Result:
    """Delete downloaded skills. Installed skills stay; the next restore may need the network."""
    gone = app.installation.cache.clean(unused_for=read_duration(unused_for) if unused_for else 0.0)
    line = f"Deleted {plural(gone.skills, 'skill')}, {_format_size(gone.bytes)}"
    return Result(data={"skills": gone.skills, "bytes": gone.bytes}, lines=lambda _: (line,))


def _format_size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else plural(size, "byte")
