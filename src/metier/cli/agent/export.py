"""`metier agent export`."""

from __future__ import annotations

import os

import click

from metier.agents import render_export, render_version
from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import one_line
from metier.errors import ConflictError
from metier.sources import replace_text

from .fields import agent_argument

__all__ = ["export"]


@command("agent", "export")
@agent_argument
@click.option("-o", "--output", metavar="FILE", help="Write to this file instead of standard output.")
@click.option("--history", "whole", is_flag=True, help="Include every version.")
def export(app: App, *, name: str, output: str | None, whole: bool) -> Result:
    """Export an agent as one file, for another machine. It names the variable of a key, never the key."""
    agents = app.conversations.agents
    versions = agents.history(name)[::-1] if whole else (agents.get(name),)
    text = render_export(versions) if whole else render_version(versions[0])
    if output:
        file = os.path.join(app.folder, output)
        if os.path.lexists(file):
            raise ConflictError(f"{output!r} already exists", hint="choose another name, or delete it first")
        replace_text(file, text, inside=app.paths.inside(file))
        line = f"Exported agent {name} to {one_line(output)}"
        return Result(data={"name": name, "file": file, "versions": len(versions)}, lines=lambda _: (line,))
    return Result(data={"name": name, "versions": len(versions), "text": text}, lines=lambda _: (), text=text)
