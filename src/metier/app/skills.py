"""The skills on this machine: where they are searched, which may be used, and which fit a request."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from metier.errors import NotFoundError
from metier.values import dataclass

if TYPE_CHECKING:
    from threading import Event

    from metier.catalog import Catalog, CatalogFilters, Entry, References
    from metier.config import Settings
    from metier.mcp import RemoteServers
    from metier.selection import Selector
    from metier.sources import (
        CatalogUpdate,
        DiscoveryLimits,
        LocalMachine,
        MetadataCache,
        ProjectFolder,
        SkillLoader,
        SourceFolder,
    )
    from metier.spec import Files

    from .installation import Installation
    from .paths import Paths

__all__ = ["LocalSkills"]


class _Search:
    """The result of searching the disk, and what was made of it."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.state: object = None
        """The SKILL.md files with their times and sizes, once they were compared."""
        self.selector: Selector | None = None


@dataclass(frozen=True, kw_only=True)
class LocalSkills:
    paths: Paths
    settings: Settings
    environment: Mapping[str, str]
    is_trusted: bool
    trusts: Callable[[str], bool]
    """Returns True if the user trusts a folder."""
    installation: Installation

    @cached_property
    def filters(self) -> CatalogFilters:
        from metier.catalog import CatalogFilters

        strings = self.settings.strings
        return CatalogFilters(
            disabled=frozenset(strings("skills.disabled")) | self.installation.disabled_plugins(),
            enabled=frozenset(strings("skills.enabled")),
            disabled_bundled=frozenset(strings("skills.disabled_bundled")),
            enabled_bundled=frozenset(strings("skills.enabled_bundled")),
            allow=strings("skills.allow"),
            deny=strings("skills.deny"),
        )

    @cached_property
    def remote_servers(self) -> RemoteServers:
        """MCP servers that offer skills."""
        from metier.mcp import RemoteServers

        table = self.settings["skills.mcp"].value
        return RemoteServers(table, cache=self.paths.cache("mcp"), environment=self.environment)

    @cached_property
    def configured_servers(self) -> frozenset[str]:
        """The MCP servers that metier or a client on this machine is configured with, by name."""
        from metier.mcp import configured_servers

        ours = self.settings["skills.mcp"].value
        others = (
            configured_servers(home=self.paths.user_home, folder=folder, environment=self.environment)
            for folder in {self.paths.folder, self.paths.install_project}
        )
        return frozenset(ours if isinstance(ours, dict) else ()).union(*others)

    @cached_property
    def machine(self) -> LocalMachine:
        from metier.sources import LocalMachine

        return LocalMachine(self.environment.get("PATH"))

    @cached_property
    def places(self) -> tuple[SourceFolder, ...]:
        from metier.hosts import project_skill_folders, user_skill_folders
        from metier.sources import standard_folders

        self._check_skills_dir()
        *above, here = self.projects
        return standard_folders(
            home=self.paths.user_home,
            user_dir=self.installation.user_dir,
            plugins_dir=self.installation.plugins_dir,
            project=here.path,
            project_trusted=here.trusted,
            skills_dir=self.settings.path("skills.dir"),
            is_trusted=self.trusts,
            above=above,
            packages=here.packages,
            user_folders=user_skill_folders(self.paths.user_home, self.environment),
            project_folders=project_skill_folders(),
        )

    @cached_property
    def projects(self) -> tuple[ProjectFolder, ...]:
        """The folders of the repository that apply here, the current one last."""
        from metier.sources import ProjectFolder, check_package, package_folders

        origin = self.settings["skills.packages"].origin
        packages = [check_package(text, origin=origin) for text in self.settings.strings("skills.packages")]

        def project(path: str) -> ProjectFolder:
            is_trusted = self.is_trusted if path == self.paths.folder else self.trusts(path)
            return ProjectFolder(path, is_trusted, package_folders(path, packages) if packages else ())

        return tuple(map(project, self.paths.projects or (self.paths.folder,)))

    def _check_skills_dir(self) -> None:
        """Raises NotFoundError if the named folder does not exist: an empty list would hide the mistake."""
        named = self.settings["skills.dir"]
        if named.value is not None and not os.path.isdir(named.value):
            origin = "--skills-dir" if named.origin == "flag" else named.origin
            raise NotFoundError(
                f"no such folder: {named.value} (from {origin})", hint="create it, or name the folder that contains your skills"
            )

    def references(self) -> dict[str, References]:
        """Returns what the texts of the enabled skills name, by folder."""
        from metier.catalog import State
        from metier.sources import read_all_references

        return read_all_references((entry for entry in self.catalog.entries if entry.state is State.ENABLED), self._cache)

    @property
    def _cache(self) -> MetadataCache | None:
        from metier.sources import MetadataCache

        return MetadataCache(self.paths.catalog_cache) if self.settings.boolean("cache.enabled") else None

    @property
    def limits(self) -> DiscoveryLimits:
        from metier.sources import DiscoveryLimits

        number = self.settings.number
        return DiscoveryLimits(depth=number("skills.max_depth"), directories=number("skills.max_directories"))

    @cached_property
    def _last_search(self) -> _Search:
        return _Search(self.fresh_catalog())

    @property
    def catalog(self) -> Catalog:
        """The skills as they were when they were last searched; see `refresh`."""
        return self._last_search.catalog

    def refresh(self) -> Catalog:
        """Returns the skills as they are on disk now: the same object if no SKILL.md was added, changed or removed."""
        from metier.sources import find_skill_folders

        last, limits = self._last_search, self.limits
        roots = [place.root for place in self.places if not place.leads_to]
        searches = [find_skill_folders(root, depth=limits.depth, directories=limits.directories) for root in roots]
        state = [(sorted(search.found), sorted(search.invalid)) for search in searches]
        if state != last.state:
            catalog = self.fresh_catalog()
            if catalog.entries != last.catalog.entries:
                last.catalog, last.selector = catalog, None
            last.state = state
        return last.catalog

    def fresh_catalog(self, planned: Mapping[str, str] = MappingProxyType({})) -> Catalog:
        """Searches the disk again. `planned`: folders of skills to be written, each with one that has its SKILL.md now."""
        from metier.sources import build_catalog

        return build_catalog(
            self.places,
            filters=self.filters,
            machine=self.machine,
            cache=self._cache,
            limits=self.limits,
            below=self.remote_servers.offers() if self.settings["skills.mcp"].value else (),
            planned=planned,
        )

    def watch(self, stop: Event | None = None, *, files: bool = False) -> Iterator[CatalogUpdate]:
        """Yields the catalog as it is, then an update for each change on disk."""
        from metier.sources import watch

        places = [place for place in self.places if not place.leads_to]
        return watch(places, self.fresh_catalog, stop=stop, files=files)

    @property
    def loader(self) -> SkillLoader:
        from metier.sources import SkillLoader

        return SkillLoader(self.catalog)

    def files_of(self, entry: Entry, *, offline: bool = False) -> Files:
        from metier.catalog import Source
        from metier.sources import DiskFiles

        return self.remote_servers.files(entry, offline=offline) if entry.source is Source.MCP else DiskFiles(entry.folder)

    @property
    def selector(self) -> Selector:
        """Ranks the skills that a model may use."""
        last = self._last_search
        if last.selector is None:
            last.selector = self.selector_for(last.catalog)
        return last.selector

    def selector_for(self, catalog: Catalog, *, semantic: bool | None = None, is_saved: bool = True) -> Selector:
        """`semantic` overrides the setting. The index is kept in the cache folder; without `is_saved` it is only read."""
        # Imported here: numpy costs 80 ms, and only a request needs it.
        from metier.selection import SelectorOptions
        from metier.sources import open_selector

        usable = [entry for entry in catalog if entry.is_for_models]
        index = self.paths.cache("selection.index") if self.settings.boolean("cache.enabled") else None
        by_meaning = self.settings.boolean("selection.semantic") if semantic is None else semantic
        options = SelectorOptions(max_skills=self.settings.number("skills.max_active"))
        return open_selector(usable, index, semantic=by_meaning, options=options, is_saved=is_saved)
