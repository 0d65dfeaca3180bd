"""The parts of `metier skill list --all`: the scope of each skill, and skills that are here but do not apply."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from metier.app import App
from metier.catalog import Entry, State
from metier.cli.core.terminal import Terminal, one_line, plural, truncate
from metier.hosts import project_skill_folders
from metier.sources import SourceFolder, build_catalog, find_nested_folders, find_package_skills
from metier.values import dataclass

__all__ = ["OtherPlaces", "other_places", "scope_of"]

_OWN_FOLDERS = (".claude/skills", ".agent/skills", ".agents/skills", ".metier/skills")


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherPlaces:
    """Skills that do not apply in the current folder."""

    nested: tuple[tuple[str, Entry], ...]
    """Skills of other folders of the repository, each with the folder below which it applies."""
    packages: tuple[tuple[str, tuple[str, ...]], ...]
    """Installed packages that are switched off, with the names of their skills."""
    switched_on: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        return {
            "elsewhere": [
                {"name": entry.name, "description": entry.description, "folder": entry.folder, "scope": scope}
                for scope, entry in self.nested
            ],
            "packages": [{"package": package, "skills": list(names)} for package, names in self.packages],
        }

    def lines(self, terminal: Terminal) -> Iterator[str]:
        if self.nested:
            yield terminal.paint("In other folders of this repository, and used only below them:", "dim")
        for scope, entry in self.nested:
            text = f"- {one_line(entry.name)}  {one_line(scope)}  {one_line(entry.description)}"
            yield truncate(text, terminal.width or None)
        if self.packages:
            yield terminal.paint("In installed packages, and switched off:", "dim")
        for package, names in self.packages:
            on = shlex.join([*self.switched_on, package])
            yield f"- {one_line(package)}  {plural(len(names), 'skill')}: {one_line(', '.join(names))}"
            yield f"    `metier config set skills.packages {one_line(on)}` uses them in trusted projects"


def scope_of(app: App, folder: str) -> str:
    """Returns the folder below which a skill of the project applies, relative to the repository's root; else nothing."""
    chain = app.paths.projects
    near = next((place for place in reversed(chain) if folder.startswith(os.path.join(os.path.realpath(place), ""))), None)
    return os.path.relpath(near, chain[0]) if near is not None else ""


def other_places(app: App, wanted: Callable[[Entry], bool]) -> OtherPlaces:
    return OtherPlaces(
        nested=tuple((scope, entry) for scope, entry in _nested(app) if wanted(entry)),
        packages=tuple(_packages(app, wanted)),
        switched_on=app.settings.strings("skills.packages"),
    )


def _nested(app: App) -> Iterator[tuple[str, Entry]]:
    root = app.paths.projects[0]
    if not os.path.lexists(os.path.join(root, ".git")):
        return
    known = {os.path.realpath(place.root) for place in app.skills.places}
    names = (*_OWN_FOLDERS, *project_skill_folders())
    for folder in find_nested_folders(root, names):
        if os.path.realpath(folder) in known:
            continue
        name = next(name for name in names if folder.endswith(f"/{name}"))
        scope = os.path.relpath(folder[: -len(name) - 1], root)
        yield from ((scope, entry) for entry in _entries(app, folder))


def _packages(app: App, wanted: Callable[[Entry], bool]) -> Iterator[tuple[str, tuple[str, ...]]]:
    known = {os.path.realpath(place.root) for place in app.skills.places}
    for project in app.paths.projects:
        for package, folder in find_package_skills(project):
            if os.path.realpath(folder) not in known and any(map(wanted, entries := _entries(app, folder))):
                yield package, tuple(entry.name for entry in entries)


def _entries(app: App, folder: str) -> Sequence[Entry]:
    from metier.catalog import Source

    catalog = build_catalog([SourceFolder(Source.PROJECT, folder)], machine=app.skills.machine, limits=app.skills.limits)
    return [entry for entry in catalog.entries if entry.state is not State.SKIPPED]
