"""`metier mcp install`: configure a client to start our server."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from datetime import datetime
from difflib import unified_diff
from typing import Any

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, strip_control_chars
from metier.errors import UsageError
from metier.mcp.client_config import ConfigChange, apply_change, plan_change
from metier.mcp.clients import ClientName, ConfigScope, ServerCommand, config_file_of
from metier.spec import is_name

__all__ = ["install"]


@command("mcp", "install")
@click.option(
    "--client", "clients", multiple=True, required=True, type=click.Choice([client.value for client in ClientName]),
    help="Whose configuration to write; may be repeated.",
)  # fmt: skip
@click.option("--project", is_flag=True, help="Write it into the current folder, for whoever works there.")
@click.option("--name", default="metier", show_default=True, help="What the client calls the server.")
@click.option("--allow-scripts", is_flag=True, help="Let the server offer run_skill_script.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
def install(app: App, *, clients: tuple[str, ...], project: bool, name: str, allow_scripts: bool, dry_run: bool) -> Result:
    """Configure a client to start `metier mcp`.

    Only the server's own entry is written; comments and everything else in the file stay as they are, and the file as it
    was is kept beside it. Run again, it changes nothing.
    """
    if not is_name(name):
        raise UsageError(f"{name!r} is no name for a server", hint="lowercase words joined by hyphens, such as metier-work")
    scope = ConfigScope.PROJECT if project else ConfigScope.USER
    arguments = ("mcp", *(("--allow-scripts",) if allow_scripts else ()))
    server = _server(name, arguments, scope)
    # All of them are planned before the first is written: a mistake in one file leaves none half done.
    changes = {
        client: plan_change(
            config_file_of(ClientName(client), scope, home=app.paths.user_home, folder=app.folder, environment=app.environment),
            server,
        )
        for client in dict.fromkeys(clients)
    }
    # In the time of the person who will look for the copy.
    now, lock = datetime.now().astimezone(), app.paths.at("mcp-clients")
    backups = {client: None if dry_run else apply_change(change, now=now, lock=lock) for client, change in changes.items()}
    rows = [_row(client, change, backups[client]) for client, change in changes.items()]
    return Result(
        data={"name": name, "scope": scope, "dry_run": dry_run, "clients": rows},
        lines=lambda terminal: _lines(changes, backups, terminal, dry_run=dry_run),
    )


def _server(name: str, arguments: tuple[str, ...], scope: ConfigScope) -> ServerCommand:
    if scope is ConfigScope.PROJECT:
        # Others have it elsewhere.
        return ServerCommand(name=name, command="metier", arguments=arguments)
    # Whole, because a client that a desktop starts has another PATH than a shell.
    beside = os.path.join(os.path.dirname(sys.executable), "metier")
    found = shutil.which(beside) or shutil.which("metier")
    if found is None:
        return ServerCommand(name=name, command=sys.executable, arguments=("-m", "metier", *arguments))
    return ServerCommand(name=name, command=os.path.abspath(found), arguments=arguments)


def _row(client: str, change: ConfigChange, backup: str | None) -> dict[str, Any]:
    return {"client": client, "file": change.file, "changed": change.is_needed, "backup": backup}


def _lines(
    changes: dict[str, ConfigChange], backups: dict[str, str | None], terminal: Terminal, *, dry_run: bool
) -> Iterator[str]:
    for client, change in changes.items():
        name = terminal.paint(client, "bold")
        if not change.is_needed:
            yield f"{name}: {one_line(change.file)} has it already"
            continue
        yield f"{name}: {'would write' if dry_run else 'wrote'} {one_line(change.file)}"
        if dry_run:
            before = (change.before or "").splitlines()
            for line in list(unified_diff(before, change.after.splitlines(), lineterm="", n=2))[2:]:
                style = {"+": "green", "-": "red"}.get(line[:1], "dim")
                yield f"  {terminal.paint(strip_control_chars(line.expandtabs(4)), style)}"
        elif backups[client]:
            yield f"  as it was: {one_line(backups[client] or '')}"
    if not dry_run and any(change.is_needed for change in changes.values()):
        yield "restart the client to see your skills there"
