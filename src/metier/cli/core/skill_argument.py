"""Resolves NAME and PATH arguments to skills and folders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from metier.app import App
from metier.catalog import Catalog, Entry, Source, State
from metier.errors import AmbiguousError, InvalidSkillError, NotFoundError, RefusedError, SkillNotFoundError, UsageError
from metier.sources import SourceFolder, build_catalog, find_skill_folders
from metier.spec import Report

from .questions import Choice, ask_one, can_ask

if TYPE_CHECKING:
    from metier.install import ConfiguredPlugin

__all__ = [
    "catalog_in",
    "entries_named",
    "entry_in",
    "entry_named",
    "folder_named",
    "folders_named",
    "is_path",
    "listing_plugins",
    "refuse_links_out",
]


def entry_named(app: App, name: str) -> Entry:
    """Returns the winner of that name, else any entry with it: skipped and untrusted skills can be shown too."""
    entry = app.catalog.get(name)
    if entry is not None:
        return entry
    for other in app.catalog.entries:
        if other.name == name:
            return other
    if "@" in name:
        return app.catalog[name]
    raise SkillNotFoundError(name, known=(entry.name for entry in app.catalog.entries))


def is_path(target: str) -> bool:
    """Returns True if this can be a path and no name."""
    return os.sep in target or target in (".", "..") or target.endswith(".md")


def folders_named(app: App, targets: Sequence[str]) -> list[str]:
    """Returns the folders of all targets: a skill's folder, a folder of skills, a SKILL.md, or a name. Default: here."""
    found: dict[str, None] = {}
    for target in targets or (app.folder,):
        found.update(dict.fromkeys(_folders(app, target)))
    return list(found)


def folder_named(app: App, target: str, *, command: str) -> str:
    """Returns the one folder of a target. If several skills have the name, a terminal asks which one is meant."""
    copies = [] if os.path.exists(os.path.join(app.folder, target)) else _copies(app, target)
    if len(copies) > 1:
        if not can_ask():
            raise AmbiguousError(
                f"several skills are named {target!r}: {', '.join(copies)}", hint=f"name its folder: {command} {copies[0]}"
            )
        return ask_one(f"Several skills are named {target!r}. Which one?", [Choice(value=each, title=each) for each in copies])
    folders = folders_named(app, [target])
    if len(folders) != 1:
        raise UsageError(f"{target!r} contains {len(folders)} skills", hint=f"name one of them: {command} {folders[0]}")
    return folders[0]


def _copies(app: App, name: str) -> list[str]:
    """Returns the folders of all skills with that name. Links to one folder count once."""
    found = (entry for entry in app.catalog.entries if entry.name == name and entry.source is not Source.MCP)
    return list(dict.fromkeys(os.path.realpath(entry.folder) for entry in found))


def entries_named(app: App, targets: Sequence[str]) -> list[Entry]:
    """Returns the skills of all targets, installed or not. Raises InvalidSkillError for one that no client could load."""
    installed = {entry.folder: entry for entry in app.catalog.entries}
    return [installed.get(folder) or entry_in(app, folder) for folder in folders_named(app, targets)]


def refuse_links_out(app: App, targets: Sequence[str]) -> None:
    """Raises RefusedError if a path in the project leads out of it; for commands that write to what was named."""
    for target in targets:
        path = os.path.abspath(os.path.join(app.folder, os.path.expanduser(target)))
        if app.paths.inside(path) and not f"{os.path.realpath(path)}/".startswith(f"{os.path.realpath(app.folder)}/"):
            raise RefusedError(f"{target} is a link out of the project", rule="link-leaves-project",
                               hint=f"name {os.path.realpath(path)} itself")  # fmt: skip


def catalog_in(app: App, folder: str) -> Catalog:
    """Returns a catalog of the one skill in a folder, which is trusted because it was named."""
    return build_catalog([SourceFolder(Source.PROJECT, folder)], machine=app.skills.machine)


def entry_in(app: App, folder: str) -> Entry:
    """Returns the skill in a folder, installed or not. Raises InvalidSkillError if no client could load it."""
    entry = next(iter(catalog_in(app, folder).entries), None)
    if entry is None or entry.state is State.SKIPPED:
        report = entry.report if entry else Report()
        raise InvalidSkillError(f"{os.path.basename(folder)!r} is not a valid skill", report=report)
    return entry


def _folders(app: App, target: str) -> Iterator[str]:
    path = os.path.join(app.folder, os.path.expanduser(target))
    looks_like_path = is_path(target)
    if os.path.isfile(path) and os.path.basename(path).lower() == "skill.md":
        yield os.path.dirname(os.path.abspath(path))
    elif os.path.isdir(path) and (looks_like_path or _holds_skill(path) or not _is_known(app, target)):
        yield from _below(os.path.realpath(path), target)
    elif looks_like_path:
        raise NotFoundError(f"No skill at {target!r}", hint="name a skill's folder, its SKILL.md, or an installed skill")
    elif _is_known(app, target):
        yield _folder_of(entry_named(app, target))
    else:
        # A folder whose SKILL.md has another name: `validate` and `fix` are for such mistakes.
        misnamed = (entry for entry in app.catalog.entries if os.path.basename(entry.folder) == target)
        yield _folder_of(next(misnamed, None) or entry_named(app, target))


def _folder_of(entry: Entry) -> str:
    if entry.source is Source.MCP:
        raise RefusedError(
            f"{entry.name} is on an MCP server, and has no folder here", rule="mcp", hint="see `metier skill show`"
        )
    return entry.folder


def _is_known(app: App, name: str) -> bool:
    return any(entry.name == name for entry in app.catalog.entries)


def _holds_skill(path: str) -> bool:
    return any(os.path.lexists(os.path.join(path, name)) for name in ("SKILL.md", "skill.md"))


def _below(path: str, target: str) -> Iterator[str]:
    if _holds_skill(path):
        yield path
        return
    result = find_skill_folders(path)
    folders = sorted({folder for folder, *_ in (*result.found, *result.invalid)})
    if not folders:
        raise NotFoundError(f"No SKILL.md in {target!r} or below it", hint="create one with `metier skill create NAME`")
    yield from folders


def listing_plugins(app: App, name: str) -> dict[ConfiguredPlugin, tuple[str, ...]]:
    """Returns the user's configured plugins that provide this skill, each with the other skills that it provides."""
    # Imported here: most configurations have no plugins.
    from metier.install import ScopeLevel

    if not app.installation.plugins or app.installation.plugins_level is not ScopeLevel.USER:
        return {}
    lock = app.installation.store(ScopeLevel.USER).lock()
    brought = {plugin: tuple(entry.name for entry in lock if plugin.provides(entry)) for plugin in app.installation.plugins}
    return {
        plugin: tuple(other for other in names if other != name)
        for plugin, names in brought.items()
        if name in (plugin.name, *names)
    }
