"""`metier agent skill add`, `remove` and `list`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from metier.agents import Agent
from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, cell_width, one_line, pad
from metier.errors import NotFoundError
from metier.values import replace

from .fields import agent_argument, resolve_refs
from .result import change_result, skill_row

__all__ = ["add", "list_skills", "remove"]


@command("agent skill", "add")
@agent_argument
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
def add(app: App, *, name: str, refs: tuple[str, ...]) -> Result:
    """Add skills to an agent. Those that are not on this machine are installed."""
    agents = app.conversations.agents
    agents.get(name)
    wanted = resolve_refs(app, refs)
    version = agents.change(
        name,
        lambda agent: replace(agent, skills=tuple(dict.fromkeys((*agent.skills, *wanted)))),
        change=f"added {', '.join(refs)}",
    )
    return change_result(version, f"Added {', '.join(refs)} to agent {name}")


@command("agent skill", "remove")
@agent_argument
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
def remove(app: App, *, name: str, refs: tuple[str, ...]) -> Result:
    """Remove skills from an agent. They stay installed."""

    def without(agent: Agent) -> Agent:
        unknown = [ref for ref in refs if ref not in agent.skills]
        if unknown:
            skills = ", ".join(agent.skills) or "none of its own"
            raise NotFoundError(f"agent {name!r} does not have the skill {unknown[0]!r}", hint=f"its skills: {skills}")
        return replace(agent, skills=tuple(ref for ref in agent.skills if ref not in refs))

    version = app.conversations.agents.change(name, without, change=f"removed {', '.join(refs)}")
    notes = ("the agent has no skills of its own now, so it may use every skill",) if not version.agent.skills else ()
    return change_result(version, f"Removed {', '.join(refs)} from agent {name}", notes=notes)


@command("agent skill", "list")
@agent_argument
def list_skills(app: App, *, name: str) -> Result:
    """List the skills of an agent, and whether each can be used here."""
    rows = [skill_row(app, ref) for ref in app.conversations.agents.get(name).agent.skills]

    def lines(terminal: Terminal) -> Iterator[str]:
        if not rows:
            yield "All skills"
        widest = max((cell_width(row["ref"]) for row in rows), default=0)
        for row in rows:
            sign = terminal.paint("✓", "green") if row["usable"] else terminal.paint("✗", "red")
            why = "" if row["usable"] else one_line(row["reason"])
            names = "" if row["names"] in ([row["ref"]], []) else f"-> {', '.join(row['names'])} "
            yield f"{sign} {pad(one_line(row['ref']), widest)}  {names}{why}".rstrip()

    return Result(data={"name": name, "skills": rows}, lines=lines)
