"""`metier mcp`: serve your skills to hosts that speak the Model Context Protocol."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.errors import NotFoundError, UsageError
from metier.mcp import HttpOptions, needs_sdk, serve_http, serve_stdio
from metier.runtime import PolicyVerdict, Session

if TYPE_CHECKING:
    from metier.mcp import GeneralTools

__all__ = ["serve"]


@command("mcp", "serve")
@click.option("--http", "over_http", is_flag=True, help="Serve streamable HTTP instead of standard input and output.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; other than loopback needs a token.")
@click.option("--port", type=click.IntRange(0, 65535), default=8642, show_default=True, help="0 picks a free port.")
@click.option("--token-file", type=click.Path(), help="File with the token that clients must send; or METIER_MCP_TOKEN.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="Another name of this server, as behind a proxy.")
@click.option("--allow-origin", "origins", multiple=True, metavar="URL", help="A web origin that may call the server.")
@click.option(
    "--allow-scripts",
    is_flag=True,
    help="Offer run_skill_script: scripts run in the sandbox, by your policy. With --http it needs a token.",
)
@click.option(
    "--tools",
    "general_tools",
    is_flag=True,
    help="Offer general tools: files of the workspace, commands and code, in the sandbox. With --http it needs a token.",
)
@click.option("--workspace", metavar="DIR", help="Folder of the general tools for clients that name no roots.")
def serve(
    app: App, *, over_http: bool, host: str, port: int, token_file: str | None, hosts: tuple[str, ...],
    origins: tuple[str, ...], allow_scripts: bool, general_tools: bool, workspace: str | None,
) -> Result:  # fmt: skip
    """Serve your skills over the Model Context Protocol.

    On standard input and output for a client that starts it, or with --http for clients that connect. Skills are offered
    through the Skills extension (SEP-2640), as resources, as tools and, for users, as prompts; clients are notified of
    changes on disk. `metier mcp install` configures a client.
    """
    # Errors in the settings are reported here, before a client waits for an answer.
    places = app.skills.places
    http = None
    if over_http:
        token = _token(app, token_file)
        http = HttpOptions(
            host=host, port=port, token=token, hosts=hosts, origins=origins, scripts=allow_scripts or general_tools
        )
    if workspace is not None and not general_tools:
        raise UsageError("--workspace is for the general tools", hint="add --tools")
    folder = app.workspaces.check(workspace) if workspace is not None else None
    watcher, open_session = app.sessions.skill_watcher(scripts=allow_scripts)
    general = _general_tools(app, folder, uses_roots=http is None) if general_tools else None
    if http is not None:
        work = serve_http(
            watcher, open_session, http, ready=lambda address: _write_status(f"Serving skills at {address}"), general=general
        )
    else:
        if sys.stdin.isatty():
            _write_status("Speaking MCP on standard input, for a client (see `metier mcp install`). Ctrl-D ends it.")
        work = serve_stdio(watcher, open_session, general)
    try:
        asyncio.run(work)
    finally:
        if general is not None:
            general.close()
    return Result(data={"places": [place.root for place in places]}, lines=lambda _: ())


def _general_tools(app: App, workspace: str | None, *, uses_roots: bool) -> GeneralTools:
    """The general tools. They write to a folder only if `policy.workspace.write` allows it: no user can be asked."""
    try:
        from metier.mcp import GeneralTools
    except ImportError as error:
        raise needs_sdk() from error
    workspaces = app.workspaces

    def open_folder(folder: str | None) -> Session:
        if folder is None:
            return app.sessions.open_general(None)
        found = workspaces.open(workspaces.check_agreed(folder), write=workspaces.write_policy is PolicyVerdict.ALLOW)
        return app.sessions.open_general(found)

    are_allowed = workspaces.read_policy is not PolicyVerdict.DENY
    return GeneralTools(open_folder, workspace=workspace, uses_roots=uses_roots and are_allowed)


def _token(app: App, file: str | None) -> str | None:
    if file is None:
        return app.environment.get("METIER_MCP_TOKEN") or None
    try:
        with open(os.path.join(app.folder, os.path.expanduser(file)), encoding="ascii") as stream:
            token = stream.read(4096).strip()
    except FileNotFoundError:
        raise NotFoundError(f"token file {file!r} not found", hint="write the token into it first") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file!r} holds no token", hint="it must be one line of ASCII text") from None
    if not token:
        raise UsageError(f"{file!r} is empty", hint="write the token into it first")
    return token


def _write_status(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
