"""`metier skill resources` and `metier skill read`: a skill's files, as a model reads them."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import click

from metier.app import App
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, cell_width, one_line, pad
from metier.errors import RefusedError
from metier.spec import FileEntry

__all__ = ["read", "resources"]


@command("skill", "resources")
@click.argument("name", shell_complete=skill_names)
@click.argument("folder", required=False, default="")
def resources(app: App, *, name: str, folder: str) -> Result:
    """List the files of a skill besides its SKILL.md, or those of one FOLDER such as scripts."""
    files = app.sessions.open(kept=False).resources(name, folder)
    rows = [{"path": file.path, "size": file.size, "executable": file.executable} for file in files]
    return Result(
        data={"name": name, "folder": folder, "files": rows}, lines=lambda terminal: _lines(files, terminal), pages=True
    )


@command("skill", "read")
@click.argument("name", shell_complete=skill_names)
@click.argument("path")
def read(app: App, *, name: str, path: str) -> Result:
    """Print one file of a skill, byte for byte. No path and no link leads out of the skill.

    With --json a file that is not text is under `base64`.
    """
    data = app.sessions.open(kept=False).read(name, path)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        if not click.get_current_context().params["as_json"]:
            raise RefusedError(
                f"{path!r} is not text ({len(data):,} bytes)", rule="not-text", hint="add --json to get it as base64"
            ) from None
        body = {"name": name, "path": path, "size": len(data), "base64": base64.b64encode(data).decode()}
        return Result(data=body, lines=lambda _: ())
    return Result(data={"name": name, "path": path, "size": len(data), "text": text}, lines=lambda _: (), text=text)


def _lines(files: tuple[FileEntry, ...], terminal: Terminal) -> Iterator[str]:
    if not files:
        yield "no files besides SKILL.md"
    widest = max((cell_width(one_line(file.path)) for file in files), default=0)
    for file in files:
        size = terminal.paint(f"{file.size:,} bytes", "dim")
        yield f"{pad(one_line(file.path), widest)}  {size}"
