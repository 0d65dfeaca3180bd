"""`metier mcp list` and `metier mcp refresh`: skills of other MCP servers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line
from metier.errors import MetierError, NotFoundError
from metier.mcp.listings import RemoteServer, ServerListing
from metier.mcp.remote_servers import needs_sdk

__all__ = ["list_servers", "refresh"]

_HOW = "name one in the configuration: [skills.mcp.NAME] with a command or a url"


@command("mcp", "list")
def list_servers(app: App) -> Result:
    """List the MCP servers whose skills you use, and what they offered when they were last asked."""
    known = [app.remote_servers.listings.of(server) for server in app.remote_servers.servers]
    return Result(data={"servers": [_row(asked) for asked in known]}, lines=lambda terminal: _lines(known, terminal))


@command("mcp", "refresh")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def refresh(app: App, *, names: tuple[str, ...]) -> Result:
    """Ask MCP servers what skills they offer now; all of them without NAME.

    Only their listings are fetched. A skill's files come when the skill is used, each verified against the listing. A
    skill that has changed has lost what you approved for it.
    """
    servers = _chosen(app, names)
    done: list[ServerListing] = []
    failed: dict[str, MetierError] = {}
    for server in servers:
        try:
            done.append(_refreshed(app, server))
        except MetierError as error:
            # One that is down must not keep the others from being asked.
            failed[server.name] = error
    if failed and not done:
        raise next(iter(failed.values()))
    app.remote_servers.listings.keep_only({server.name for server in app.remote_servers.servers})
    return Result(
        data={"servers": [_row(asked) for asked in done], "failed": {name: str(error) for name, error in failed.items()}},
        lines=lambda terminal: _lines(done, terminal),
        notes=tuple(str(error) for error in failed.values()),
        status=1 if failed else 0,
    )


def _refreshed(app: App, server: RemoteServer) -> ServerListing:
    try:
        from metier.mcp.connections import list_entries
    except ImportError as error:
        raise needs_sdk() from error
    entries = asyncio.run(list_entries(server, app.environment))
    return app.remote_servers.listings.keep(server, entries, now=datetime.now(UTC))


def _chosen(app: App, names: tuple[str, ...]) -> Sequence[RemoteServer]:
    known = {server.name: server for server in app.remote_servers.servers}
    for name in names:
        if name not in known:
            raise NotFoundError(f"no MCP server is named {name!r}", hint=f"there are {', '.join(known)}" if known else _HOW)
    if not known:
        raise NotFoundError("no MCP server is configured", hint=_HOW)
    return [known[name] for name in names] or [server for server in known.values() if server.enabled]


def _row(asked: ServerListing) -> dict[str, Any]:
    server = asked.server
    return {
        "name": server.name,
        "server": server.url or [server.command, *server.arguments],
        "enabled": server.enabled,
        "fetched": asked.fetched or None,
        "skills": [
            {"name": skill.label, "uri": skill.uri, "digest": skill.digest or None, "files": len(skill.files or ())}
            for skill in asked.skills
        ],
        "problems": list(asked.problems),
    }


def _lines(known: Sequence[ServerListing], terminal: Terminal) -> Iterator[str]:
    if not known:
        yield f"no MCP server is configured; {_HOW}"
    for asked in known:
        server = asked.server
        where = server.url or " ".join((server.command, *server.arguments))
        about = (
            f"{len(asked.skills)} skills, asked {asked.fetched}" if asked.fetched else "never asked; run `metier mcp refresh`"
        )
        off = "" if server.enabled else " (switched off)"
        yield f"{terminal.paint(server.name, 'bold')}{off}  {one_line(where)}"
        yield f"  {terminal.paint(about, 'dim')}"
        for skill in asked.skills:
            loose = "" if skill.files is not None else "  (made up as it goes: nothing can be verified)"
            yield f"  {one_line(skill.label)}  {one_line(str(skill.frontmatter['description']))[:80]}{loose}"
        for problem in asked.problems:
            yield f"  {terminal.paint('left out', 'yellow')} {one_line(problem)}"
