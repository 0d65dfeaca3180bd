"""`metier agent show`."""

from __future__ import annotations

import click

from metier.agents import render_version
from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result

from .fields import VersionNumber, agent_argument
from .result import agent_row, unusable_skills, unused_variables

__all__ = ["show"]


@command("agent", "show")
@agent_argument
@click.option("--version", "number", type=VersionNumber(), help="Show this version instead of the current one.")
def show(app: App, *, name: str, number: int | None) -> Result:
    """Show an agent as TOML."""
    version = app.conversations.agents.get(name, number)
    notes = (*unusable_skills(app, version.agent), *unused_variables(version.agent))
    return Result(data=agent_row(version), lines=lambda _: (), text=render_version(version), notes=notes)
