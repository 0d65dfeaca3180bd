"""Loads a skill by name, one tier at a time: metadata, then instructions, then single files."""

from __future__ import annotations

import os

from metier.catalog import Catalog, Entry, State
from metier.errors import InvalidSkillError, MetierError, RefusedError, SkillNotFoundError, UnavailableError
from metier.spec import MAX_RESOURCE_BYTES, Manifest, Skill, load, resource_path
from metier.values import replace

from .disk_files import DiskFiles

__all__ = ["SkillLoader", "load_folder", "unusable"]


class SkillLoader:
    """Reads the skills of a catalog. Raises an error with the reason for a skill that is not enabled."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    def load_metadata(self, name: str) -> Manifest:
        """Returns tier one, the frontmatter."""
        return self._usable(name).manifest

    def load_full(self, name: str) -> Skill:
        """Returns tier two, the whole skill, read from disk now, so that it includes changes since discovery."""
        entry = self._usable(name)
        return replace(load_folder(entry.folder), source=entry.source, source_ref=entry.location)

    def load_resource(self, name: str, path: str, *, limit: int = MAX_RESOURCE_BYTES) -> bytes:
        """Returns tier three, one file of the skill."""
        return DiskFiles(self._usable(name).folder).read(resource_path(path), limit=limit)

    def _usable(self, name: str) -> Entry:
        entry = self.catalog.get(name)
        if entry is None:
            raise unusable(self.catalog, name)
        if entry.state is State.UNAVAILABLE:
            raise UnavailableError(
                f"{name} cannot be used here: {entry.reason}", hint="install what is missing", retryable=False
            )
        if entry.state is not State.ENABLED:
            raise RefusedError(
                f"{name} is {entry.state}: {entry.reason}",
                rule=f"skill-{entry.state}",
                hint=_ENABLE.format(name) if entry.state is State.DISABLED else f"see `metier skill show {name}`",
            )
        return entry


_ENABLE = "enable it with `metier skill enable {0}`, or see `metier skill show {0}`"


def unusable(catalog: Catalog, name: str) -> MetierError:
    """Returns the error for a name that no usable skill has: it is invalid, in an untrusted folder, or unknown."""
    for entry in catalog.entries:
        if entry.name != name:
            continue
        if entry.state is State.UNTRUSTED:
            return RefusedError(
                f"{name} is in a folder that you do not trust: {entry.folder}", rule="skill-untrusted",
                hint="read it, then run `metier trust` in that project",
            )  # fmt: skip
        if entry.state is State.SKIPPED:
            return InvalidSkillError(
                f"{name} is not a valid skill: {entry.reason}", report=entry.report,
                hint=f"run `metier skill validate {name}` for every problem and its place",
            )  # fmt: skip
    return SkillNotFoundError(name, known=[entry.name for entry in catalog])


def load_folder(folder: str | os.PathLike[str]) -> Skill:
    """Loads the skill in a folder, with the lenient verdict. Raises InvalidSkillError if no model could use it."""
    files = DiskFiles(folder)
    skill = load(files, folder=os.path.basename(files.folder))
    return replace(skill, folder=files.folder, source="local", source_ref=os.fspath(folder))
