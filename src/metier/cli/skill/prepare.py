"""`metier skill prepare`: fetch the packages that scripts declare."""

from __future__ import annotations

from collections.abc import Iterator

import click

from metier.app import App, PreparedPackages
from metier.catalog import Source
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import entry_named
from metier.cli.core.terminal import Terminal
from metier.errors import MetierError, RefusedError, UsageError
from metier.runtime import ApprovalAnswer

from .package_prompts import prepared_lines

__all__ = ["prepare"]


@command("skill", "prepare")
@click.argument("names", nargs=-1, shell_complete=skill_names)
@click.option("--upgrade", is_flag=True, help="Take the newest versions that fit, instead of the locked ones.")
@click.option("--python", metavar="VERSION", default="", help="Lock them for this Python, such as 3.12.")
@click.option("--offline", is_flag=True, help="Use the cache only, not the network.")
@click.option("--allow-builds", is_flag=True, help="Build packages without a wheel: runs their code outside the sandbox.")
def prepare(app: App, *, names: tuple[str, ...], upgrade: bool, python: str, offline: bool, allow_builds: bool) -> Result:
    """Fetch the packages that scripts declare, once for all runs.

    They are what a script's inline metadata (PEP 723), requirements.txt or package.json names. Versions are locked with hashes,
    only wheels are taken, and no code of a package runs, unless you add --allow-builds. Afterwards the scripts run without
    network. Without NAMES, all skills.
    """
    wanted = _python_range(python)
    # Running the command is the approval; the policy still denies what it forbids.
    permissions = app.sessions.permissions(lambda _: ApprovalAnswer.ONCE)
    folders = {name: _folder(app, name) for name in names} or {
        entry.name: entry.folder for entry in app.catalog if entry.source is not Source.MCP
    }
    found: list[tuple[str, PreparedPackages]] = []
    notes: list[str] = []
    for name, folder in folders.items():
        prepared = app.packages.prepare_skill(
            name, folder, permissions, upgrade=upgrade or bool(wanted), offline=offline, python=wanted, builds=allow_builds
        )
        try:
            found += [(name, one) for one in prepared]
        except MetierError as error:
            if names:
                raise
            notes.append(f"{name}: {error}; {error.hint}")

    def lines(terminal: Terminal) -> Iterator[str]:
        for name, one in found:
            yield from prepared_lines(name, one, terminal)
        if not found and not notes:
            what = f"{', '.join(names)} declares no packages" if names else "No skill declares packages"
            yield terminal.paint(what, "dim")

    return Result(
        data={"skills": [_row(name, one) for name, one in found]}, lines=lines, notes=tuple(notes), status=bool(notes)
    )


def _folder(app: App, name: str) -> str:
    entry = entry_named(app, name)
    if entry.source is Source.MCP:
        raise RefusedError(f"{name} is on another server", rule="origin", hint="install it first; see `metier skill install`")
    return entry.folder


def _python_range(version: str) -> str:
    if not version:
        return ""
    major, _, minor = version.partition(".")
    if major != "3" or not minor.isdigit():
        raise UsageError(f"{version!r} is not a version of Python", hint="write it as 3.12")
    return f"=={version}.*"


def _row(name: str, one: PreparedPackages) -> dict[str, object]:
    return {
        "name": name, "path": one.declared.path, "kind": one.declared.kind, "python": one.locked.python,
        "digest": one.locked.digest, "folder": one.environment.tree, "new": one.is_new, "changes": list(one.changes),
        "packages": [
            {"name": each.name, "version": each.version, "license": each.license} for each in one.environment.packages
        ],
    }  # fmt: skip
