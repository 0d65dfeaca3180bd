"""`metier agent import`. `import` is a keyword of Python, hence the underscore."""

from __future__ import annotations

import click

from metier.agents import parse_export, rename_agent
from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result

from .fields import read_text
from .result import change_result, unusable_skills

__all__ = ["import_agent"]


@command("agent", "import")
@click.argument("file")
@click.option("--name", help="Import under this name.")
@click.option("--force", is_flag=True, help="If the agent exists, add the import as its next version.")
def import_agent(app: App, *, file: str, name: str | None, force: bool) -> Result:
    """Import an exported agent; `-` reads standard input."""
    versions = parse_export(read_text(app, file), file=file)
    if name:
        versions = [rename_agent(version, name) for version in versions]
    version = app.conversations.agents.import_versions(versions, force=force)
    return change_result(version, f"Imported agent {version.agent.name}", notes=unusable_skills(app, version.agent))
