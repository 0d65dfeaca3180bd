"""`metier hook status`: which agents have the prompt hook, and what it sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal
from metier.hosts import PROMPT_HOOKS, detect_hosts
from metier.install import HookState, hook_command

from .places import hook_place

__all__ = ["status"]


@command("hook", "status")
def status(app: App) -> Result:
    """Show which agents have the hook, and how many skills each of them can see here."""
    rows = [_row(app, name) for name in PROMPT_HOOKS]
    error = app.router.records.last_error()
    notes = (f"the last hook that failed said: {error}",) if error else ()
    return Result(data={"agents": rows, "last_error": error}, lines=lambda terminal: _lines(rows, terminal), notes=notes)


def _row(app: App, agent: str) -> dict[str, Any]:
    states = {}
    for project in (False, True):
        place = hook_place(app, agent, project=project)
        states["project" if project else "user"] = str(place.state(hook_command(agent, shared=project)))
    is_installed = any(state != HookState.MISSING for state in states.values())
    is_here = agent in detect_hosts(app.paths.user_home, app.environment)
    snapshot = app.router.refresh(agent, app.folder) if is_installed else None
    return {
        "agent": agent, "detected": is_here, **states, "skills": len(snapshot.skills) if snapshot else None,
        "enabled": not snapshot.is_silent if snapshot else None,
    }  # fmt: skip


def _lines(rows: Sequence[dict[str, Any]], terminal: Terminal) -> Iterator[str]:
    width = max(len(row["agent"]) for row in rows) + 2
    for row in rows:
        name = terminal.paint(f"{row['agent']:<{width}}", "bold")
        places = [place for place in ("user", "project") if row[place] != HookState.MISSING]
        if not places:
            yield f"{name}{'not installed' if row['detected'] else terminal.paint('not installed; agent not found', 'dim')}"
            continue
        seen = f"{row['skills']} skill{'' if row['skills'] == 1 else 's'} visible here"
        off = "" if row["enabled"] else ", switched off by router.enabled"
        other = ", by another installation of metier" if HookState.OTHER_COMMAND in (row["user"], row["project"]) else ""
        yield f"{name}installed ({', '.join(places)}), {seen}{off}{other}"
