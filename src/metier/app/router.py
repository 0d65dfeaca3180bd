"""The router of this machine: builds the snapshots that prompt hooks read."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from metier.values import dataclass

if TYPE_CHECKING:
    from metier.catalog import Catalog
    from metier.config import Settings
    from metier.router import HookRecords, RouteSkill, RouteSnapshot
    from metier.sources import SourceFolder

    from .paths import Paths
    from .skills import LocalSkills

__all__ = ["Router"]


@dataclass(frozen=True, kw_only=True)
class Router:
    paths: Paths
    settings: Settings
    environment: Mapping[str, str]
    skills: LocalSkills

    @property
    def records(self) -> HookRecords:
        from metier.router import HookRecords

        return HookRecords(self.paths.at("router"))

    def refresh(self, host: str, folder: str) -> RouteSnapshot:
        """Writes the snapshot of an agent in a folder again if the library has changed, and returns it."""
        from metier import __version__
        from metier.router import RouteSnapshot, library_state, open_snapshot, snapshot_file, visible_folders, write_snapshot

        file = snapshot_file(self.paths.cache("router"), host, folder)
        folders = visible_folders(host, folder, home=self.paths.user_home, environment=self.environment)
        state = library_state(folders, self._settings_files(folder))
        known = open_snapshot(file, __version__)
        if known is not None and known.state == state.text:
            return known
        skills, index = self._index(folders)
        snapshot = RouteSnapshot(skills, index, state=state.text, is_silent=self._is_off(folder), watched=state.watched)
        write_snapshot(file, snapshot, __version__)
        return snapshot

    def visible_catalog(self, host: str, folder: str) -> Catalog:
        """Returns the skills that an agent can see in a folder; only the user's own if the folder is empty."""
        from metier.router import visible_folders

        return self._catalog(visible_folders(host, folder, home=self.paths.user_home, environment=self.environment))

    def _catalog(self, folders: Sequence[SourceFolder]) -> Catalog:
        from metier.sources import MetadataCache, build_catalog

        cache = MetadataCache(self.paths.catalog_cache) if self.settings.boolean("cache.enabled") else None
        return build_catalog(
            folders, filters=self.skills.filters, machine=self.skills.machine, cache=cache, limits=self.skills.limits
        )

    def _index(self, folders: Sequence[SourceFolder]) -> tuple[list[RouteSkill], bytes]:
        from metier.router import RouteSkill
        from metier.selection import Selector
        from metier.sources import IndexedSkill

        indexed = [IndexedSkill(entry) for entry in self._catalog(folders) if entry.is_for_models]
        rows = [
            RouteSkill(skill.id, skill.name, skill.digest, dict(skill.triggers) if skill.triggers else None)
            for skill in indexed
        ]
        return rows, Selector(indexed).index_bytes()

    def _settings_files(self, folder: str) -> list[str]:
        from metier.sources import project_chain

        projects = [os.path.join(place, ".metier", "config.toml") for place in project_chain(folder)] if folder else []
        return [self.paths.system_config_file, self.paths.config_file, *projects]

    def _is_off(self, folder: str) -> bool:
        """Returns True if the user, or a settings file of the project, switches the router off.

        The project needs no trust for that: it can only make the router say nothing.
        """
        from metier.sources import project_chain

        if not self.settings.boolean("router.enabled"):
            return True
        files = [os.path.join(place, ".metier", "config.toml") for place in project_chain(folder)] if folder else []
        return any(_switches_off(file) for file in files)


def _switches_off(file: str) -> bool:
    from metier.sources import read_regular

    try:
        document = tomllib.loads(read_regular(file).decode("utf-8", "replace"))
    except (OSError, tomllib.TOMLDecodeError):
        return False
    table = document.get("router")
    return isinstance(table, dict) and table.get("enabled") is False
