"""`metier cache`: the size of the cache of downloaded skills, and cleaning it."""

from __future__ import annotations

import re

import click

from metier.app import App
from metier.errors import UsageError

from .core.dispatch import command
from .core.result import Result
from .core.terminal import plural

__all__ = ["clean", "info"]

_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


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
    gone = app.installation.cache.clean(unused_for=_seconds(unused_for) if unused_for else 0.0)
    line = f"Deleted {plural(gone.skills, 'skill')}, {_format_size(gone.bytes)}"
    return Result(data={"skills": gone.skills, "bytes": gone.bytes}, lines=lambda _: (line,))


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d{1,6})([dhms])", text)
    if not match:
        raise UsageError(f"{text!r} is not a duration", hint="write 30d, 12h, 45m or 10s")
    return float(int(match[1]) * _UNITS[match[2]])


def _format_size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size:,} bytes"
