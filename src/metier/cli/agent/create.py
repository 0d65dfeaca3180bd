"""`metier agent create`."""

from __future__ import annotations

from typing import Any

from metier.agents import Agent
from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result

from .fields import agent_argument, agent_options, edit_from_options
from .result import change_result

__all__ = ["create"]


@command("agent", "create")
@agent_argument
@agent_options
def create(app: App, *, name: str, **options: Any) -> Result:
    """Create an agent: a model, instructions, and the skills it may use.

    Without --skills it may use every skill, with --no-skills none. Refs of skills that are not on this machine are installed.
    """
    # Any: the options of an agent, read by edit_from_options.
    agent = edit_from_options(app, options)(Agent(name=name))
    return change_result(app.conversations.agents.create(agent), f"Created agent {name}")
