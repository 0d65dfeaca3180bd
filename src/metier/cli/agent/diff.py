"""`metier agent diff`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from metier.agents import diff_versions
from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal

from .fields import agent_argument

__all__ = ["diff"]

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@command("agent", "diff")
@agent_argument
@click.argument("first", type=click.IntRange(min=1), metavar="V1")
@click.argument("second", type=click.IntRange(min=1), metavar="[V2]", required=False)
def diff(app: App, *, name: str, first: int, second: int | None) -> Result:
    """Show the changes between two versions, or between one and the current one."""
    before, after = app.conversations.agents.get(name, first), app.conversations.agents.get(name, second)
    changed, text = diff_versions(before, after)

    def lines(terminal: Terminal) -> Iterator[str]:
        if not text:
            yield "No changes"
        for line in text:
            colour = _COLOURS.get(line[:1])
            yield terminal.paint(line, colour) if colour else line

    data = {"name": name, "from": before.number, "to": after.number, "changed": changed, "diff": text}
    return Result(data=data, lines=lines, pages=True)
