"""`metier mcp list`: the MCP servers whose skills are used, and what they offered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, plural
from metier.mcp import HOW_TO_CONFIGURE, ServerListing

__all__ = ["list_servers", "listing_lines", "listing_row"]


@command("mcp", "list")
def list_servers(app: App) -> Result:
    """List the MCP servers whose skills you use, and what they offered when they were last asked."""
    listings = [app.remote_servers.listings.of(server) for server in app.remote_servers.servers]
    return Result(
        data={"servers": [listing_row(listing) for listing in listings]},
        lines=lambda terminal: listing_lines(listings, terminal),
    )


def listing_row(listing: ServerListing) -> dict[str, Any]:
    server = listing.server
    return {
        "name": server.name,
        "server": server.url or [server.command, *server.arguments],
        "enabled": server.enabled,
        "fetched": listing.fetched or None,
        "skills": [
            {"name": skill.label, "uri": skill.uri, "digest": skill.digest or None, "files": len(skill.files or ())}
            for skill in listing.skills
        ],
        "problems": list(listing.problems),
    }


def listing_lines(listings: Sequence[ServerListing], terminal: Terminal) -> Iterator[str]:
    if not listings:
        yield f"No MCP server is configured; {HOW_TO_CONFIGURE}"
    for listing in listings:
        server = listing.server
        where = server.url or " ".join((server.command, *server.arguments))
        count = plural(len(listing.skills), "skill")
        about = f"{count}, listed {listing.fetched}" if listing.fetched else "not listed yet; run `metier mcp refresh`"
        disabled = "" if server.enabled else " (disabled)"
        yield f"{terminal.paint(server.name, 'bold')}{disabled}  {one_line(where)}"
        yield f"  {terminal.paint(about, 'dim')}"
        for skill in listing.skills:
            unverified = "" if skill.files is not None else "  (dynamic: files cannot be verified)"
            yield f"  {one_line(skill.label)}  {one_line(str(skill.frontmatter['description']))[:80]}{unverified}"
        for problem in listing.problems:
            yield f"  {terminal.paint('skipped', 'yellow')} {one_line(problem)}"
