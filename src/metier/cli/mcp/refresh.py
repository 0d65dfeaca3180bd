"""`metier mcp refresh`: fetch the listings of MCP servers again."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from metier.app import App
from metier.cli.completion import server_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result

from .list import listing_lines, listing_row

__all__ = ["refresh"]


@command("mcp", "refresh")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=server_names)
def refresh(app: App, *, names: tuple[str, ...]) -> Result:
    """Fetch the skill listings of MCP servers; without NAME, of all that are enabled.

    Only the listings are fetched. A skill's files are fetched when the skill is used, and verified against the listing.
    When a skill changes, its approvals are dropped.
    """
    refreshed = app.remote_servers.refresh(names, now=datetime.now(UTC))
    failed = {name: str(error) for name, error in refreshed.failed.items()}
    return Result(
        data={"servers": [listing_row(listing) for listing in refreshed.listings], "failed": failed},
        lines=lambda terminal: listing_lines(refreshed.listings, terminal),
        notes=tuple(failed.values()),
        status=1 if failed else 0,
    )
