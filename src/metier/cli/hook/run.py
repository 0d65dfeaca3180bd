"""`metier hook run`: its help page. `hook_process` beside it answers prompts without click."""

from __future__ import annotations

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.hosts import PROMPT_HOOKS

__all__ = ["run"]


@command("hook", "run")
@click.argument("agent", type=click.Choice(list(PROMPT_HOOKS)))
def run(_app: App, *, agent: str) -> Result:
    """Answer one prompt for an agent.

    Reads the JSON of the agent's hook from standard input. If a skill fits the prompt, prints the JSON that names it to the
    model; otherwise prints nothing. It always exits with 0: a prompt never fails because of it.
    """
    raise AssertionError(f"hook run {agent} is answered before click is imported")
