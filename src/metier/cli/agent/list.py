"""`metier agent list`."""

from __future__ import annotations

from collections.abc import Iterator

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, pad, truncate

from .result import agent_row

__all__ = ["list_agents"]


@command("agent", "list")
def list_agents(app: App) -> Result:
    """List agents."""
    found = [app.conversations.agents.get(name) for name in app.conversations.agents.names()]

    def lines(terminal: Terminal) -> Iterator[str]:
        if not found:
            yield "No agents. Create one with `metier agent create NAME --model MODEL`."
        widest = max((len(version.agent.name) for version in found), default=0)
        for version in found:
            agent = version.agent
            skills = "all skills" if agent.skills is None else ", ".join(agent.skills) or "no skills"
            text = f"v{version.number}  {agent.model or 'default model'}  {skills}"
            yield f"{terminal.paint(pad(agent.name, widest), 'bold')}  {truncate(one_line(text), terminal.width)}"

    return Result(data={"agents": [agent_row(version) for version in found]}, lines=lines)
