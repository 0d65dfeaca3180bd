"""`metier registry stats`."""

from __future__ import annotations

import asyncio

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result

from .location import db_option, existing_registry

__all__ = ["stats"]


@command("registry", "stats")
@db_option
def stats(app: App, *, db: str | None) -> Result:
    """Show registry statistics: packages, releases, downloads and bytes."""
    location = existing_registry(app, db=db)
    from metier.registry import statistics

    totals = asyncio.run(statistics(location))
    return Result(data=totals, lines=lambda _: tuple(f"{name:<10} {count:>15,}" for name, count in totals.items()))
