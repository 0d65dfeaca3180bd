"""`metier agent skill add`, `remove` and `list`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from metier.agents import Agent
from metier.app import App
from metier.cli.completion import skill_names
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
@click.argument("refs", nargs=-1, required=True, metavar="REF...", shell_complete=skill_names)
def add(app: App, *, name: str, refs: tuple[str, ...]) -> Result:
    """Add skills to an agent. Those that are not on this machine are installed."""
    agents = app.conversations.agents
    before = agents.get(name)
    wanted = resolve_refs(app, refs)
    version = agents.change(
        name,
        lambda agent: replace(agent, skills=tuple(dict.fromkeys((*(agent.skills or ()), *wanted)))),
        change=f"added {', '.join(refs)}",
    )
    if version.number == before.number:
        return change_result(version, f"Agent {name} already has {', '.join(refs)}")
    notes = ("until now the agent could use every skill; now only these",) if before.agent.skills is None else ()
    return change_result(version, f"Added {', '.join(refs)} to agent {name}", notes=notes)


@command("agent skill", "remove")
@agent_argument
@click.argument("refs", nargs=-1, required=True, metavar="REF...", shell_complete=skill_names)
def remove(app: App, *, name: str, refs: tuple[str, ...]) -> Result:
    """Remove skills from an agent, by name or by the ref that they were added with. They stay installed."""

    def without(agent: Agent) -> Agent:
        if agent.skills is None:
            raise NotFoundError(
                f"agent {name!r} may use every skill", hint=f"list those it may use with `metier agent edit {name} --skills …`"
            )
        left = agent.skills
        for ref in refs:
            fewer = tuple(_without(app, left, ref))
            if fewer == left:
                skills = ", ".join(agent.skills) or "none"
                raise NotFoundError(f"agent {name!r} does not have the skill {ref!r}", hint=f"its skills: {skills}")
            left = fewer
        return replace(agent, skills=left)

    version = app.conversations.agents.change(name, without, change=f"removed {', '.join(refs)}")
    all_again = f"the agent has no skills now; `metier agent edit {name} --skills ''` allows every skill"
    notes = (all_again,) if not version.agent.skills else ()
    return change_result(version, f"Removed {', '.join(refs)} from agent {name}", notes=notes)


def _without(app: App, skills: Iterable[str], removed: str) -> Iterator[str]:
    """Yields the skills without one of them. Of a ref that stands for several, the others stay, by name."""
    for ref in skills:
        names = skill_row(app, ref)["names"]
        if ref == removed:
            continue
        if removed in names:
            yield from (each for each in names if each != removed)
        else:
            yield ref


@command("agent skill", "list")
@agent_argument
def list_skills(app: App, *, name: str) -> Result:
    """List the skills of an agent, and whether each can be used here."""
    skills = app.conversations.agents.get(name).agent.skills
    rows = [skill_row(app, ref) for ref in skills or ()]

    def lines(terminal: Terminal) -> Iterator[str]:
        if not rows:
            yield "All skills" if skills is None else "No skills"
        widest = max((cell_width(row["ref"]) for row in rows), default=0)
        for row in rows:
            sign = terminal.paint("✓", "green") if row["usable"] else terminal.paint("✗", "red")
            why = "" if row["usable"] else one_line(row["reason"])
            names = "" if row["names"] in ([row["ref"]], []) else f"-> {', '.join(row['names'])} "
            yield f"{sign} {pad(one_line(row['ref']), widest)}  {names}{why}".rstrip()

    return Result(data={"name": name, "skills": rows}, lines=lines)
