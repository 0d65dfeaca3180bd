"""`metier skill read`: one file of a skill, as a model reads it."""

from __future__ import annotations

import base64

import click

from metier.app import App
from metier.cli.completion import skill_files, skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.errors import NotFoundError, RefusedError, SkillNotFoundError, plural

__all__ = ["read"]


@command("skill", "read")
@click.argument("name", shell_complete=skill_names)
@click.argument("path", shell_complete=skill_files)
def read(app: App, *, name: str, path: str) -> Result:
    """Print one file of a skill, byte for byte. Paths and links that leave the skill are refused.

    With --json, a file that is not text is in `base64`.
    """
    try:
        data = app.sessions.open(kept=False).read(name, path)
    except SkillNotFoundError:
        raise
    except NotFoundError as error:
        raise NotFoundError(str(error), hint=f"see its files with `metier skill resources {name}`") from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        if not click.get_current_context().params["as_json"]:
            raise RefusedError(
                f"{path!r} is not text ({plural(len(data), 'byte')})", rule="not-text", hint="add --json to get it as base64"
            ) from None
        body = {"name": name, "path": path, "size": len(data), "base64": base64.b64encode(data).decode()}
        return Result(data=body, lines=lambda _: ())
    return Result(data={"name": name, "path": path, "size": len(data), "text": text}, lines=lambda _: (), text=text)
