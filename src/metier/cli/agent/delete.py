"""`metier agent delete`."""

from __future__ import annotations

import sys

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import plural
from metier.errors import UsageError

from .fields import agent_argument

__all__ = ["delete"]


@command("agent", "delete")
@agent_argument
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def delete(app: App, *, name: str, yes: bool) -> Result:
    """Delete an agent and all of its versions."""
    agents = app.conversations.agents
    version = agents.get(name)
    versions = plural(version.number, "version")
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(f"deleting {name} would delete {versions}", hint="confirm with --yes")
        click.confirm(f"Delete {name} with {versions}?", abort=True, err=True)
    agents.delete(name)
    return Result(data={"deleted": name}, lines=lambda _: (f"Deleted agent {name}",))
