"""`metier trust`: trust a project folder, so that its skills and settings are used."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import click

from metier.app import App
from metier.catalog import State
from metier.errors import NotFoundError, RefusedError
from metier.sources import Grant

from .core.dispatch import command
from .core.entry_rows import entry_lines
from .core.result import Result
from .core.terminal import Terminal, one_line

__all__ = ["trust"]


@command("", "trust")
@click.argument("folder", required=False, type=click.Path())
@click.option("--remove", is_flag=True, help="Remove the folder from the list.")
@click.option("-y", "--yes", is_flag=True, help="Trust it even if it is your home folder or contains it.")
@click.option("--list", "listed", is_flag=True, help="List the trusted folders.")
@click.option("--allow", "allowed", multiple=True, metavar="NAME@HOST",
              help="Let the folder's settings send this environment variable to this host; repeatable.")  # fmt: skip
def trust(app: App, *, folder: str | None, remove: bool, listed: bool, yes: bool, allowed: tuple[str, ...]) -> Result:
    """Trust a project folder, so that its skills and settings are used.

    Without FOLDER, the current one. A cloned repository can contain skills with instructions for your agent; metier loads
    none of them until you trust the folder. In CI, METIER_TRUST=1 trusts the current folder.

    Trust does not let a folder's settings send an environment variable anywhere, nor choose the registry: --allow
    VARIABLE@HOST or --allow skills.registry@HOST does, for this folder; with --remove it is taken back.
    """
    if listed:
        return _listing(app)
    target = os.path.join(app.folder, os.path.expanduser(folder or "."))
    if not os.path.isdir(target) and not remove:
        raise NotFoundError(f"folder {folder!r} not found", hint="name an existing folder")
    real = os.path.realpath(target)
    if allowed:
        return _change_grants(app, [Grant.parse(real, text) for text in allowed], remove=remove)
    if remove:
        changed = app.trust.remove(real)
        app.grants.remove(*app.grants.of(real))
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
        "asks": [grant.text for grant in here.registries.requests()],
    }

    def lines(terminal: Terminal) -> Iterator[str]:
        yield one_line(f"Trusted {real}" if changed else f"Already trusted: {real}")
        yield from entry_lines(gained, terminal)
        for text in data["asks"]:
            yield one_line(f"Its settings ask for {text}; to allow it: metier trust --allow {text}")

    return Result(data=data, lines=lines)


def _listing(app: App) -> Result:
    folders = app.trust.folders
    grants = [grant for folder in folders for grant in app.grants.of(folder)]
    rows = [{"folder": grant.folder, "name": grant.name, "host": grant.host} for grant in grants]

    def lines(_: Terminal) -> Iterator[str]:
        for folder in folders:
            yield one_line(folder)
            yield from (f"  {one_line(grant.text)}" for grant in grants if grant.folder == folder)
        if not folders:
            yield "No trusted folders"

    return Result(data={"folders": list(folders), "grants": rows}, lines=lines)


def _change_grants(app: App, grants: Sequence[Grant], *, remove: bool) -> Result:
    for grant in grants:
        if remove:
            app.grants.remove(grant)
        else:
            app.grants.add(grant)
    verb = "No longer allowed" if remove else "Allowed"
    rows = [grant.text for grant in grants]
    return Result(
        data={"folder": grants[0].folder, "allowed": not remove, "grants": rows},
        lines=lambda _: (one_line(f"{verb} for {grant.folder}: {grant.text}") for grant in grants),
    )
