"""`metier trust`: trust a project folder, so that its skills and settings are used."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import Any

import click

from metier.app import App
from metier.catalog import State
from metier.errors import NotFoundError, RefusedError

from .core.dispatch import command
from .core.entry_rows import entry_lines
from .core.result import Result
from .core.terminal import Terminal, one_line

__all__ = ["trust"]


@command("", "trust")
@click.argument("folder", required=False, type=click.Path())
@click.option("--remove", is_flag=True, help="Remove the folder from the list.")
@click.option("--yes", is_flag=True, help="Trust it even if it is your home folder or contains it.")
@click.option("--list", "listed", is_flag=True, help="List the trusted folders.")
def trust(app: App, *, folder: str | None, remove: bool, listed: bool, yes: bool) -> Result:
    """Trust a project folder, so that its skills and settings are used.

    Without FOLDER, the current one. A cloned repository can contain skills with instructions for your agent; metier loads
    none of them until you trust the folder. In CI, METIER_TRUST=1 trusts the current folder.
    """
    if listed:
        folders = app.trust.folders
        return Result(data={"folders": list(folders)}, lines=lambda _: tuple(map(one_line, folders)) or ("No trusted folders",))
    target = os.path.join(app.folder, os.path.expanduser(folder or "."))
    if not os.path.isdir(target) and not remove:
        raise NotFoundError(f"folder {folder!r} not found", hint="name an existing folder")
    real = os.path.realpath(target)
    if remove:
        changed = app.trust.remove(real)
        line = one_line(f"No longer trusted: {real}" if changed else f"Not in the list of trusted folders: {real}")
        return Result(data={"folder": real, "trusted": False, "changed": changed}, lines=lambda _: (line,))
    home = os.path.realpath(app.paths.user_home)
    if not yes and f"{home}/".startswith(os.path.join(real, "")):
        raise RefusedError(
            f"{real} {'is' if real == home else 'contains'} your home folder, so every project below it would be trusted",
            rule="trust", hint=f"name one project, or add --yes: `metier trust {shlex.quote(folder or '.')} --yes`",
        )  # fmt: skip
    changed = app.trust.add(real)
    here = App(environment=app.environment, folder=real)
    gained = [
        entry for entry in here.catalog.entries if entry.folder.startswith(real + os.sep) and entry.state is State.ENABLED
    ]
    data: dict[str, Any] = {
        "folder": real,
        "trusted": True,
        "changed": changed,
        "skills": [entry.name for entry in gained],
    }

    def lines(terminal: Terminal) -> Iterator[str]:
        yield one_line(f"Trusted {real}" if changed else f"Already trusted: {real}")
        yield from entry_lines(gained, terminal)

    return Result(data=data, lines=lines)
