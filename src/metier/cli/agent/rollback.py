"""`metier agent rollback`."""

from __future__ import annotations

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result

from .fields import VersionNumber, agent_argument
from .result import change_result

__all__ = ["rollback"]


@command("agent", "rollback")
@agent_argument
@click.argument("number", type=VersionNumber(), metavar="VERSION")
def rollback(app: App, *, name: str, number: int) -> Result:
    """Restore an earlier version of an agent, as a new version."""
    return change_result(app.conversations.agents.rollback(name, number), f"Rolled back agent {name} to v{number}")
