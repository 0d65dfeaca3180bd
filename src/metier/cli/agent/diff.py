"""`metier agent diff`."""

from __future__ import annotations

import click

from metier.agents import diff_versions
from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import paint_diff

from .fields import VersionNumber, agent_argument

__all__ = ["diff"]


@command("agent", "diff")
@agent_argument
@click.argument("first", type=VersionNumber(), metavar="V1")
@click.argument("second", type=VersionNumber(), metavar="[V2]", required=False)
def diff(app: App, *, name: str, first: int, second: int | None) -> Result:
    """Show the changes between two versions, or between one and the current one."""
    before, after = app.conversations.agents.get(name, first), app.conversations.agents.get(name, second)
    changed, text = diff_versions(before, after)

    data = {"name": name, "from": before.number, "to": after.number, "changed": changed, "diff": text}
    return Result(data=data, lines=lambda terminal: paint_diff(text or ["No changes"], terminal), pages=True)
