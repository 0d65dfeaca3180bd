"""`metier mcp install`: configure a client to start the server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.host_changes import diff_lines
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line
from metier.errors import UsageError
from metier.install import HostFileChange, apply_change
from metier.mcp import (
    ClientName,
    ConfigScope,
    ServerCommand,
    config_file_of,
    metier_server,
    plan_change,
)
from metier.spec import is_name
from metier.values import replace

__all__ = ["install"]


@command("mcp", "install")
@click.option(
    "--client", "clients", multiple=True, required=True, type=click.Choice([client.value for client in ClientName]),
    help="The client to configure; repeatable.",
)  # fmt: skip
@click.option("--project", is_flag=True, help="Configure it for this project, in a file that can be committed.")
@click.option("--name", default="metier", show_default=True, help="The server's name in the client.")
@click.option("--allow-scripts", is_flag=True, help="Let the server offer run_skill_script.")
@click.option("--dry-run", is_flag=True, help="Show the change and write nothing.")
def install(app: App, *, clients: tuple[str, ...], project: bool, name: str, allow_scripts: bool, dry_run: bool) -> Result:
    """Configure a client to start `metier mcp`.

    Only the server's own entry is written; comments and all other entries stay, and a backup of the file is kept beside
    it. Running it again changes nothing.
    """
    if not is_name(name):
        raise UsageError(f"{name!r} is not a server name", hint="use lowercase words joined by hyphens, such as metier-work")
    scope = ConfigScope.PROJECT if project else ConfigScope.USER
    server = metier_server(name, ("mcp", *(("--allow-scripts",) if allow_scripts else ())), scope)
    # All changes are planned before the first is written, so that an error in one file leaves all of them unchanged.
    changes = {client: _plan(app, ClientName(client), scope, server) for client in dict.fromkeys(clients)}
    # Local time, because the user looks for the backup.
    now, lock = datetime.now().astimezone(), app.paths.at("mcp-clients")
    backups = {client: None if dry_run else apply_change(change, now=now, lock=lock) for client, change in changes.items()}
    rows = [_row(client, change, backups[client]) for client, change in changes.items()]
    return Result(
        data={"name": name, "scope": scope, "dry_run": dry_run, "clients": rows},
        lines=lambda terminal: _lines(changes, backups, terminal, dry_run=dry_run),
    )


def _plan(app: App, client: ClientName, scope: ConfigScope, server: ServerCommand) -> HostFileChange:
    root = app.paths.install_project
    file = config_file_of(client, scope, home=app.paths.user_home, folder=root, environment=app.environment)
    return plan_change(replace(file, inside=root if scope is ConfigScope.PROJECT else None), server)


def _row(client: str, change: HostFileChange, backup: str | None) -> dict[str, Any]:
    return {"client": client, "file": change.file, "changed": change.is_needed, "backup": backup}


def _lines(
    changes: dict[str, HostFileChange], backups: dict[str, str | None], terminal: Terminal, *, dry_run: bool
) -> Iterator[str]:
    for client, change in changes.items():
        name = terminal.paint(client, "bold")
        if not change.is_needed:
            yield f"{name}: already configured in {one_line(change.file)}"
            continue
        yield f"{name}: {'would write' if dry_run else 'wrote'} {one_line(change.file)}"
        if dry_run:
            yield from diff_lines(change, terminal)
        elif backups[client]:
            yield f"  backup: {one_line(backups[client] or '')}"
    if not dry_run and any(change.is_needed for change in changes.values()):
        yield "Restart the client to use your skills there."
