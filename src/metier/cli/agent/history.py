"""`metier agent history`."""

from __future__ import annotations

from collections.abc import Iterator

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line

from .fields import agent_argument

__all__ = ["history"]


@command("agent", "history")
@agent_argument
def history(app: App, *, name: str) -> Result:
    """List every version of an agent, the newest first."""
    versions = app.conversations.agents.history(name)
    rows = [{"version": each.number, "created": each.created.isoformat(), "change": each.change} for each in versions]

    def lines(terminal: Terminal) -> Iterator[str]:
        for each in versions:
            number = terminal.paint(f"v{each.number}", "bold")
            yield f"{number}  {each.created.astimezone():%Y-%m-%d %H:%M}  {one_line(each.change)}"

    return Result(data={"name": name, "versions": rows}, lines=lines, pages=True)
