"""`metier skill resources`: the files of a skill, as a model lists them."""

from __future__ import annotations

from collections.abc import Iterator

import click

from metier.app import App
from metier.cli.completion import skill_folders, skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, cell_width, one_line, pad, plural
from metier.spec import FileEntry

__all__ = ["resources"]


@command("skill", "resources")
@click.argument("name", shell_complete=skill_names)
@click.argument("folder", required=False, default="", shell_complete=skill_folders)
def resources(app: App, *, name: str, folder: str) -> Result:
    """List the files of a skill besides its SKILL.md, or those of one FOLDER such as scripts."""
    files = app.sessions.open(kept=False).resources(name, folder)
    rows = [{"path": file.path, "size": file.size, "executable": file.executable} for file in files]
    return Result(
        data={"name": name, "folder": folder, "files": rows}, lines=lambda terminal: _lines(files, terminal), pages=True
    )


def _lines(files: tuple[FileEntry, ...], terminal: Terminal) -> Iterator[str]:
    if not files:
        yield "No files besides SKILL.md"
    widest = max((cell_width(one_line(file.path)) for file in files), default=0)
    for file in files:
        size = terminal.paint(plural(file.size, "byte"), "dim")
        yield f"{pad(one_line(file.path), widest)}  {size}"
