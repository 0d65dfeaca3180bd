"""`metier doctor`: check this machine, its settings and its skills."""

from __future__ import annotations

import asyncio
import os
import platform
import sqlite3
from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from metier import __version__
from metier.app import App
from metier.catalog import Source, State
from metier.errors import MetierError
from metier.extras import find_extras, install_command
from metier.install import NPM_HINT, UV_HINT, Leftover, find_leftovers
from metier.install import repair as repair_scope
from metier.runtime import check_health, needed_variables
from metier.sources import open_cache
from metier.spec import PackageEcosystem, load
from metier.values import dataclass

from .core.dispatch import command
from .core.entry_rows import count_by_state
from .core.result import Result
from .core.terminal import Terminal, one_line, pad, plural
from .doctor_services import check_services
from .registry.location import registry_location
from .skill.show import missing_for

__all__ = ["doctor"]

_MOST_MISSING = 10
_MOST_READ = 300
_TOOLS = {"git": "to install skills from repositories"}


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    name: str
    level: str
    """ok, warning or error."""
    text: str
    hint: str = ""


@command("", "doctor")
@click.option("--repair", is_flag=True, help="Remove the leftovers of interrupted installations.")
@click.option("--all-archives", is_flag=True, help="Check every archive of your registry, not only a sample.")
def doctor(app: App, *, repair: bool, all_archives: bool) -> Result:
    """Check this machine, its settings, its skills and its registry.

    Exits with 1 if a check fails; warnings do not change the exit code.
    """
    repaired = [DoctorCheck("repair", "ok", f"{left.path}: {left.what}; cleared") for left in _repair(app)] if repair else []
    found = [*repaired, *_findings(app, all_archives=all_archives)]
    failed = any(finding.level == "error" for finding in found)
    rows: list[dict[str, Any]] = [{slot: getattr(finding, slot) for slot in finding.__slots__} for finding in found]

    def lines(terminal: Terminal) -> Iterator[str]:
        signs = {
            "ok": terminal.paint("✓", "green"),
            "warning": terminal.paint("!", "yellow"),
            "error": terminal.paint("✗", "red"),
        }
        for finding in found:
            yield f"{signs[finding.level]} {terminal.paint(pad(one_line(finding.name), 14), 'bold')} {one_line(finding.text)}"
            if finding.hint:
                yield f"  {'':14} {terminal.paint('hint:', 'cyan')} {one_line(finding.hint)}"

    return Result(data={"checks": rows}, lines=lines, status=1 if failed else 0)


def _findings(app: App, *, all_archives: bool) -> Iterator[DoctorCheck]:
    yield DoctorCheck(
        "metier", "ok", f"{__version__} on Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    )
    yield _extras()
    yield _home(app)
    try:
        settings = app.settings
    except MetierError as error:
        yield DoctorCheck("settings", "error", str(error), error.hint)
        return
    for warning in settings.warnings:
        yield DoctorCheck("settings", "warning", warning)
    if not settings.warnings:
        changed = sum(value.origin != "default" for value in settings)
        yield DoctorCheck("settings", "ok", f"{changed} changed from the default; `metier config show` lists all")
    yield _cache(app)
    try:
        yield from (*_skills(app), *_installed(app), *_packages(app), _project(app))
    except MetierError as error:
        yield DoctorCheck("skills", "error", str(error), error.hint)
    yield from _running(app)
    yield from _secrets(app)
    yield from _own_registry(app, all_archives=all_archives)
    yield from (DoctorCheck(*found) for found in check_services(app))
    for tool, purpose in _TOOLS.items():
        there = app.skills.machine.has_command(tool)
        yield DoctorCheck(
            tool,
            "ok" if there else "warning",
            f"{app.skills.machine.commands[tool]}" if there else f"not found; needed {purpose}",
        )


def _extras() -> DoctorCheck:
    extras = find_extras()
    installed = ", ".join(name for name, there in extras.items() if there) or "none"
    missing = [name for name, there in extras.items() if not there]
    hint = f"not installed: {', '.join(missing)}; to add {missing[0]}: `{install_command(missing[0])}`" if missing else ""
    return DoctorCheck("extras", "ok", f"installed: {installed}", hint)


def _running(app: App) -> Iterator[DoctorCheck]:
    """Checks what running scripts needs, each by trying it."""
    try:
        require = app.sessions.options().limits.require
        for found in check_health(
            store=app.sessions.store, approvals=app.sessions.approvals, runner=app.sessions.runner, require=require
        ):
            yield DoctorCheck(found.name, found.level, found.text, found.hint)
    except MetierError as error:
        yield DoctorCheck("running", "error", str(error), error.hint)


def _secrets(app: App) -> Iterator[DoctorCheck]:
    """Checks the stored secrets, and finds skills whose scripts need others."""
    try:
        stored = app.sessions.secrets.all()
        missing = list(islice(_missing_secrets(app), _MOST_MISSING + 1))
    except MetierError as error:
        yield DoctorCheck("secrets", "error", str(error), error.hint)
        return
    if stored:
        yield DoctorCheck("secrets", "ok", f"{plural(len(stored), 'secret')} stored; `metier secret list` names them")
    for skill, name in missing[:_MOST_MISSING]:
        yield DoctorCheck(
            "secrets", "warning", f"{skill} needs {name}, which is not stored", f"`metier secret set {name} --skill {skill}`"
        )
    if len(missing) > _MOST_MISSING:
        yield DoctorCheck("secrets", "warning", "more skills need secrets; `metier skill show NAME` names those of one")


def _missing_secrets(app: App) -> Iterator[tuple[str, str]]:
    local = [entry for entry in app.catalog.entries if entry.state is State.ENABLED and entry.source is not Source.MCP]
    for entry in local[:_MOST_READ]:
        try:
            skill = load(app.skills.files_of(entry, offline=True), folder=entry.folder.rpartition("/")[2])
            needed = needed_variables(skill)
        except MetierError:
            continue  # other checks report it
        for each in needed:
            if app.sessions.secrets.find(entry.name, each.name) is None:
                yield entry.name, each.name


def _own_registry(app: App, *, all_archives: bool) -> Iterator[DoctorCheck]:
    """Checks the registry on this machine, if one is configured or exists."""
    if not app.settings.path("registry.db") and not os.path.exists(app.paths.at("registry", "registry.sqlite")):
        return
    try:
        location = registry_location(app)
        from metier.registry import RegistryCheck, check_registry

        async def check() -> list[RegistryCheck]:
            return [one async for one in check_registry(location, all_archives=all_archives)]

        for found in asyncio.run(check()):
            yield DoctorCheck(found.name, found.level, found.text, found.hint)
    except MetierError as error:
        yield DoctorCheck("registry", "error", str(error), error.hint)


def _repair(app: App) -> list[Leftover]:
    return [left for store in app.installation.every_store() for left in repair_scope(store.scope)]


def _installed(app: App) -> Iterator[DoctorCheck]:
    """Checks the locks, and finds leftovers of interrupted installations."""
    for store in app.installation.every_store():
        for left in find_leftovers(store.scope):
            yield DoctorCheck("installed", "warning", f"{left.path}: {left.what}", "`metier doctor --repair` clears it")
        try:
            locked = len(store.lock())
        except MetierError as error:
            yield DoctorCheck("installed", "error", str(error), error.hint)
            continue
        if locked:
            yield DoctorCheck("installed", "ok", f"{locked} in {store.scope.lock_file}; `metier skill verify` checks them")


def _packages(app: App) -> Iterator[DoctorCheck]:
    """Checks the packages that scripts declare, and the programs that fetch them."""
    kinds: set[PackageEcosystem] = set()
    ready = 0
    for entry in app.catalog:
        if entry.source is Source.MCP:
            continue
        try:
            statuses = app.packages.skills.status(entry.folder)
        except MetierError as error:
            yield DoctorCheck("packages", "warning", f"{entry.name}: {error}", error.hint)
            continue
        kinds |= {one.declared.kind for one in statuses}
        ready += sum(one.environment is not None for one in statuses)
        if missing := [one for one in statuses if one.environment is None]:
            wanted = ", ".join(missing[0].declared.requirements[:5])
            text = missing[0].problem or f"{missing[0].declared.path} needs packages that are not prepared ({wanted})"
            yield DoctorCheck("packages", "warning", f"{entry.name}: {text}", f"run `metier skill prepare {entry.name}`")
    if ready:
        yield DoctorCheck("packages", "ok", f"{plural(ready, 'environment')} prepared in {app.packages.cache.folder}")
    programs = app.packages.skills.programs
    if PackageEcosystem.PYTHON in kinds and programs.find_uv() is None:
        yield DoctorCheck("uv", "warning", "not found; needed for packages of Python scripts", UV_HINT)
    if PackageEcosystem.NPM in kinds and programs.find("npm") is None:
        yield DoctorCheck("npm", "warning", "not found; needed for packages of Node scripts", NPM_HINT)


def _home(app: App) -> DoctorCheck:
    home = str(app.paths.home)
    nearest = home
    while not os.path.exists(nearest):
        nearest = os.path.dirname(nearest)
    if os.access(nearest, os.W_OK) and os.path.isdir(nearest):
        return DoctorCheck("home", "ok", home if nearest == home else f"{home} (created when needed)")
    return DoctorCheck("home", "error", f"{home} cannot be written", "set METIER_HOME to a folder that you can write")


def _cache(app: App) -> DoctorCheck:
    file = app.paths.catalog_cache
    if not app.settings.boolean("cache.enabled"):
        return DoctorCheck("cache", "warning", "disabled, so every start reads every skill")
    if not os.path.exists(file):
        return DoctorCheck("cache", "ok", "not created yet")
    try:
        db = open_cache(file, timeout=0.5)
        try:
            rows = db.execute("select count(*) from skill").fetchone()[0]
        finally:
            db.close()
    except sqlite3.Error as error:
        return DoctorCheck("cache", "warning", f"{file}: {error}; it is rebuilt by the next listing")
    return DoctorCheck("cache", "ok", f"{plural(rows, 'skill')} cached in {file} ({os.path.getsize(file) // 1024:,} KiB)")


def _skills(app: App) -> Iterator[DoctorCheck]:
    catalog = app.catalog
    yield DoctorCheck("skills", "ok" if catalog.entries else "warning", count_by_state(catalog.entries) or "no skills found")
    for warning in catalog.warnings:
        yield DoctorCheck("search", "warning", warning)
    named, names = app.skills.references(), {entry.name for entry in catalog.entries}
    for entry in catalog.entries:
        if entry.state in (State.SKIPPED, State.UNAVAILABLE):
            yield DoctorCheck(
                entry.name,
                "warning",
                f"{entry.state}: {entry.reason}",
                f"`metier skill show {entry.name}`" if entry.state is State.SKIPPED else "",
            )
        elif entry.state is State.ENABLED and (missing := missing_for(app, entry.manifest, named[entry.folder], names)):
            yield DoctorCheck(entry.name, "warning", f"enabled, but this machine may lack: {', '.join(missing)}")


def _project(app: App) -> DoctorCheck:
    folder = app.paths.install_project
    if app.trusts(folder):
        return DoctorCheck("project", "ok", f"{folder} is trusted")
    if any(entry.state is State.UNTRUSTED for entry in app.catalog.entries):
        hint = f"`{app.trust_command(folder)}` uses them"
        return DoctorCheck("project", "warning", f"{folder} has skills but is not trusted", hint)
    return DoctorCheck("project", "ok", f"{folder} has no skills of its own")
