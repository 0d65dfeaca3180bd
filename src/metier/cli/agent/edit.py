"""`metier agent edit`."""

from __future__ import annotations

import sys
from typing import Any

from metier.agents import AgentVersion, parse_version, render_version
from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.editor import edit_file
from metier.cli.core.result import Result
from metier.errors import UsageError
from metier.sources import replace_text
from metier.values import replace

from .fields import agent_argument, agent_options, edit_from_options, resolve_refs
from .result import change_result

__all__ = ["edit"]


@command("agent", "edit")
@agent_argument
@agent_options
def edit(app: App, *, name: str, **options: Any) -> Result:
    """Change an agent, by options or in your editor. Every change is a new version.

    --var NAME= removes a variable; --skills '' allows every skill again, and --no-skills none.
    """
    # Any: the options of an agent, read by edit_from_options.
    agents = app.conversations.agents
    before = agents.get(name)
    given = [key.replace("_", " ") for key, value in options.items() if value not in (None, (), False)]
    if given:
        version = agents.change(name, edit_from_options(app, options), change=f"changed {', '.join(given)}")
    else:
        version = _edit_in_editor(app, before)
    changed = version.number != before.number
    return change_result(version, f"Changed agent {name}" if changed else f"Agent {name} is unchanged")


def _edit_in_editor(app: App, before: AgentVersion) -> AgentVersion:
    if not (sys.stdin.isatty() or app.environment.get("EDITOR") or app.environment.get("VISUAL")):
        raise UsageError("nothing to change", hint="give --model, --skills, --instructions or --var, or set EDITOR")
    agents, name = app.conversations.agents, before.agent.name
    draft = agents.folder / name / ".draft.toml"
    replace_text(str(draft), render_version(before))
    edit_file(str(draft), app.environment)
    edited = parse_version(draft.read_text(encoding="utf-8"), file=str(draft)).agent
    resolve_refs(app, [ref for ref in edited.skills or () if ref not in (before.agent.skills or ())])
    # A draft that cannot be saved stays, so that the user's work is not lost.
    version = agents.save(before, replace(edited, name=name), change="edited")
    draft.unlink()
    return version
