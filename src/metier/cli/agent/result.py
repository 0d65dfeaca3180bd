"""Agents as results: rows of JSON, the line after a change, and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from metier.agents import Agent, AgentVersion
from metier.app import App
from metier.catalog import State
from metier.cli.core.result import Result
from metier.cli.core.terminal import one_line
from metier.errors import MetierError

__all__ = ["agent_row", "change_result", "skill_row", "unusable_skills", "unused_variables"]


def change_result(version: AgentVersion, line: str, *, notes: Sequence[str] = ()) -> Result:
    text = f"{line} (v{version.number})"
    return Result(data=agent_row(version), lines=lambda _: (one_line(text),), notes=(*notes, *unused_variables(version.agent)))


def agent_row(version: AgentVersion) -> dict[str, Any]:
    agent = asdict(version.agent)
    skills = None if version.agent.skills is None else list(version.agent.skills)
    return {
        **agent,
        "skills": skills,
        "version": version.number,
        "created": version.created.isoformat(),
        "change": version.change,
    }


def skill_row(app: App, ref: str) -> dict[str, Any]:
    try:
        names = app.conversations.resolve(ref)
    except MetierError as error:
        return {"ref": ref, "names": [], "usable": False, "reason": f"{error}; {error.hint}"}
    entries = [app.catalog[name] for name in names]
    off = next((entry for entry in entries if entry.state is not State.ENABLED), None)
    return {"ref": ref, "names": list(names), "usable": off is None, "reason": f"{off.state}: {off.reason}" if off else ""}


def unusable_skills(app: App, agent: Agent) -> list[str]:
    rows = (skill_row(app, ref) for ref in agent.skills or ())
    return [f"skill {row['ref']!r} cannot be used here: {row['reason']}" for row in rows if not row["usable"]]


def unused_variables(agent: Agent) -> list[str]:
    return [f"the instructions do not use the variable {name!r}" for name in agent.unused_variables]
