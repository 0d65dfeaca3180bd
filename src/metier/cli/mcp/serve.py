"""`metier mcp`: your skills for every host that speaks the Model Context Protocol."""

from __future__ import annotations

import asyncio
import os
import sys

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.errors import NotFoundError, UsageError
from metier.mcp.http import HttpOptions
from metier.mcp.remote_servers import needs_sdk

__all__ = ["serve"]


@command("mcp", "serve")
@click.option("--http", "over_http", is_flag=True, help="Serve streamable HTTP instead of standard input and output.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen here; other machines need a token.")
@click.option("--port", type=click.IntRange(0, 65535), default=8642, show_default=True, help="0 takes any that is free.")
@click.option("--token-file", type=click.Path(), help="A file with the token that clients must bring; or METIER_MCP_TOKEN.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="Another name of this server, as behind a proxy.")
@click.option("--allow-origin", "origins", multiple=True, metavar="URL", help="A web page's origin that may call it.")
@click.option("--allow-scripts", is_flag=True, help="Offer run_skill_script: scripts run in the sandbox, by your policy.")
def serve(
    app: App, *, over_http: bool, host: str, port: int, token_file: str | None, hosts: tuple[str, ...],
    origins: tuple[str, ...], allow_scripts: bool,
) -> Result:  # fmt: skip
    """Serve your skills over the Model Context Protocol.

    On standard input and output, for a client that starts it, or with --http for clients that connect. Skills are offered
    by the Skills extension (SEP-2640), as resources, as tools and, for people, as prompts; a change on disk is told to
    clients at once. `metier mcp install` configures a client.
    """
    # A mistake in the settings is told here, while there is somebody to read it.
    places = app.skills.places
    http = HttpOptions(host=host, port=port, token=_token(app, token_file), hosts=hosts, origins=origins) if over_http else None
    try:
        from metier.mcp.transports import serve_http, serve_stdio
    except ImportError as error:
        raise needs_sdk() from error
    watcher, open_session = app.sessions.skill_watcher(scripts=allow_scripts)
    if http is not None:
        asyncio.run(serve_http(watcher, open_session, http, ready=lambda address: _tell(f"serving skills at {address}")))
    else:
        if sys.stdin.isatty():
            _tell("speaking MCP on standard input; a client should start this (`metier mcp install`). Ctrl-D ends it.")
        asyncio.run(serve_stdio(watcher, open_session))
    return Result(data={"places": [place.root for place in places]}, lines=lambda _: ())


def _token(app: App, file: str | None) -> str | None:
    if file is None:
        return app.environment.get("METIER_MCP_TOKEN") or None
    try:
        with open(os.path.join(app.folder, os.path.expanduser(file)), encoding="ascii") as stream:
            token = stream.read(4096).strip()
    except FileNotFoundError:
        raise NotFoundError(f"there is no token file {file!r}", hint="write the token into it first") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file!r} holds no token", hint="one line of plain text") from None
    if not token:
        raise UsageError(f"{file!r} is empty", hint="write the token into it first")
    return token


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
