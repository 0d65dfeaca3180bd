"""Installed skills: their folders and locks, the configured plugins, and what fetching may use."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from metier.values import dataclass

if TYPE_CHECKING:
    from metier.config import Settings
    from metier.install.configured_plugins import ConfiguredPlugin
    from metier.install.fetch.cache import SkillCache
    from metier.install.fetch.job import Access
    from metier.install.protocols import Scan
    from metier.install.store import SkillStore
    from metier.install.targets.agent_visibility import AgentVisibility
    from metier.install.targets.scope import InstallScope, ScopeLevel

    from .paths import Paths
    from .registries import Registries

__all__ = ["Installation"]


@dataclass(frozen=True, kw_only=True)
class Installation:
    paths: Paths
    settings: Settings
    environment: Mapping[str, str]
    registries: Registries

    @property
    def user_dir(self) -> str:
        return self.settings.path("skills.user_dir") or self.paths.at("skills")

    @property
    def plugins_dir(self) -> str:
        return self.settings.path("skills.plugins_dir") or self.paths.at("plugins")

    def scope(self, level: ScopeLevel) -> InstallScope:
        """Returns the folders of the user's, or of this project's, installed skills."""
        from metier.install.targets.scope import InstallScope, ScopeLevel

        return InstallScope(
            level=level, root=self.paths.home if level is ScopeLevel.USER else self.paths.folder, home=self.paths.user_home,
            plugins=self.plugins_dir, environment=self.environment,
        )  # fmt: skip

    def store(self, level: ScopeLevel) -> SkillStore:
        from metier.install.store import SkillStore

        return SkillStore(self.scope(level))

    @cached_property
    def plugins(self) -> tuple[ConfiguredPlugin, ...]:
        """The plugins listed under `skills.plugins`."""
        listed = self.settings["skills.plugins"]
        if listed.value is None:
            return ()
        from metier.install.configured_plugins import read_plugins

        return read_plugins(listed.value, where=listed.origin)

    @cached_property
    def plugins_level(self) -> ScopeLevel:
        """The scope that the list of plugins belongs to."""
        from metier.install.targets.scope import ScopeLevel

        # In the home folder itself, the project's file is the user's.
        is_users = self.settings["skills.plugins"].origin.startswith(f"{self.paths.config_file}:")
        return ScopeLevel.USER if is_users else ScopeLevel.PROJECT

    def disabled_plugins(self) -> frozenset[str]:
        """Returns the names of the skills whose plugin is disabled."""
        off = [plugin for plugin in self.plugins if not plugin.enabled]
        named = frozenset(plugin.name for plugin in off if plugin.name)
        if len(named) == len(off):
            return named
        # For a plugin without a name, only the lock knows which skills came from it.
        lock = self.store(self.plugins_level).lock()
        return named | {entry.name for entry in lock for plugin in off if plugin.brought(entry)}

    @cached_property
    def visibility(self) -> AgentVisibility:
        from metier.install.targets.agent_visibility import AgentVisibility

        return AgentVisibility(self.paths.user_home, self.paths.folder, self.environment)

    def access(self, *, offline: bool = False, insecure: bool = False, headers: Sequence[str] = (), **more: Any) -> Access:
        """Returns what fetching may use: the network unless `offline`, the user's registries, and the shared cache."""
        # Any: the fields of Access that only a test or an option sets.
        from metier.install.fetch.credentials import parse_header
        from metier.install.fetch.job import Access

        shared = (os.path.join(self.paths.user_home, name, "skills") for name in (".agents", ".claude"))
        return Access(
            environment=self.environment, folder=self.paths.folder, offline=offline, insecure=insecure, cache=self.cache,
            places=(self.user_dir, *shared, self.plugins_dir),
            sources=self.registries.sources,
            headers=tuple(map(parse_header, headers)), **more,
        )  # fmt: skip

    @property
    def cache(self) -> SkillCache:
        from metier.install.fetch.cache import SkillCache

        return SkillCache(self.paths.cache("skills"))

    @property
    def scan(self) -> Scan:
        """Scans what is installed. A pass is cached by the content that was scanned."""
        from metier.install.scan_cache import cached_scan

        return cached_scan(self.cache)
