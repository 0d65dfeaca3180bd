"""`metier cache`: the size of the cache of downloaded skills and prepared packages, and cleaning it."""

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
    """Show the folders and sizes of the caches: downloaded skills, prepared packages, and downloads of packages."""
    cache, packages = app.installation.cache, app.packages.cache
    size, built, downloads = cache.size(), packages.size(), app.packages.downloads
    fetched = downloads.size()
    lines = [f"{cache.folder}: {plural(size.skills, 'skill')}, {_format_size(size.bytes)}"]
    if built.environments or fetched:
        lines.append(f"{packages.folder}: {plural(built.environments, 'environment')}, {_format_size(built.bytes)}")
        lines.append(f"{downloads.folder}: downloads of uv and npm, {_format_size(fetched)}")
    data = {
        "folder": cache.folder, "skills": size.skills, "bytes": size.bytes,
        "environments": {"folder": packages.folder, "environments": built.environments, "bytes": built.bytes},
        "downloads": {"folder": downloads.folder, "bytes": fetched},
    }  # fmt: skip
    return Result(data=data, lines=lambda _: lines)


@command("cache", "clean")
@click.option("--unused-for", metavar="TIME", help="Only what was not used for this long, such as 30d or 12h.")
def clean(app: App, *, unused_for: str | None) -> Result:
    """Delete downloaded skills and prepared packages.

    Installed skills stay; the next restore may need the network, and so may scripts with packages: `metier skill prepare`.
    """
    seconds = read_duration(unused_for) if unused_for else 0.0
    gone, built = app.installation.cache.clean(unused_for=seconds), app.packages.cache.clean(unused_for=seconds)
    # uv and npm keep no times of use, so their downloads go only with everything else.
    fetched = 0 if seconds else app.packages.downloads.clean()
    lines = [f"Deleted {plural(gone.skills, 'skill')}, {_format_size(gone.bytes)}"]
    if built.environments or fetched:
        lines.append(f"Deleted {plural(built.environments, 'environment')}, {_format_size(built.bytes)}")
        lines += [f"Deleted downloads of packages, {_format_size(fetched)}"] if fetched else []
    data = {
        "skills": gone.skills, "bytes": gone.bytes, "downloads": {"bytes": fetched},
        "environments": {"environments": built.environments, "bytes": built.bytes},
    }  # fmt: skip
    return Result(data=data, lines=lambda _: lines)


def _format_size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else plural(size, "byte")
