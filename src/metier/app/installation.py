"""Installed skills: installing, updating and removing them; their stores, the configured plugins, and what fetching may use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from metier.values import dataclass, replace

if TYPE_CHECKING:
    from metier.config import Settings
    from metier.install import (
        Access,
        AdvisedScan,
        AgentVisibility,
        ConfiguredPlugin,
        Cooldown,
        InstallOptions,
        InstallResult,
        InstallScope,
        Progress,
        Scan,
        ScopeLevel,
        SkillCache,
        SkillStore,
        SkillUpdate,
        SourceRules,
    )
    from metier.scan import Advisory

    from .paths import Paths
    from .registries import Registries

__all__ = ["Installation"]


@dataclass(frozen=True, kw_only=True)
class Installation:
    paths: Paths
    settings: Settings
    environment: Mapping[str, str]
    trusts: Callable[[str], bool]
    """Returns True for a project that the user trusts, so what its lock names may be asked like what the user names."""
    registries: Registries
    find_advisories: Callable[[bool], Sequence[Advisory]] = lambda _offline: ()
    """Returns what is known to be bad; True asks no registry."""

    @property
    def user_dir(self) -> str:
        return self.settings.path("skills.user_dir") or self.paths.at("skills")

    @property
    def plugins_dir(self) -> str:
        return self.settings.path("skills.plugins_dir") or self.paths.at("plugins")

    @property
    def bundled_dir(self) -> str:
        import metier.sources

        return os.path.join(os.path.dirname(metier.sources.__file__), "bundled")

    @property
    def skill_roots(self) -> tuple[str, ...]:
        """Folders in which a skill may have the name of an installed one, without the import that `standard_folders` needs."""
        projects = self.paths.projects or (self.paths.folder,)
        shared = [
            os.path.join(folder, name, "skills")
            for folder in (self.paths.user_home, *projects)
            for name in (".claude", ".agents", ".agent", ".metier")
        ]
        plain = [os.path.join(folder, "skills") for folder in projects]
        return (self.bundled_dir, *shared, *plain, self.user_dir, self.plugins_dir)

    def scope(self, level: ScopeLevel, *, project: str = "") -> InstallScope:
        """Returns the folders of the user's, or of a project's, installed skills; by default of `Paths.install_project`."""
        from metier.install import InstallScope, ScopeLevel

        root = self.paths.home if level is ScopeLevel.USER else project or self.paths.install_project
        return InstallScope(
            level=level, root=root, home=self.paths.user_home,
            plugins=self.plugins_dir, environment=self.environment, metier_home=self.paths.home, user_skills=self.user_dir,
        )  # fmt: skip

    def store(self, level: ScopeLevel) -> SkillStore:
        from metier.install import SkillStore

        return SkillStore(self.scope(level))

    def stores(self, *, project: bool | None = None) -> list[SkillStore]:
        """Returns the stores of the projects that apply here, the nearest first, or the user's; with None all with a lock."""
        from metier.install import ScopeLevel

        if project is False:
            return [self.store(ScopeLevel.USER)]
        found = self._locked_stores()
        if project:
            return found or [self.store(ScopeLevel.PROJECT)]
        return [*found, *(store for store in [self.store(ScopeLevel.USER)] if store.exists)]

    def every_store(self) -> list[SkillStore]:
        """Returns the user's store, and those of the projects that apply here, also without a lock."""
        from metier.install import ScopeLevel

        found = [self.store(ScopeLevel.USER), self.store(ScopeLevel.PROJECT), *self._locked_stores()]
        return list({store.scope.root: store for store in found}.values())

    def _locked_stores(self) -> list[SkillStore]:
        from metier.install import ScopeLevel, SkillStore

        return [SkillStore(self.scope(ScopeLevel.PROJECT, project=each)) for each in self.paths.locked_projects]

    def install(
        self,
        refs: Sequence[str],
        *,
        project: bool | None = None,
        options: InstallOptions | None = None,
        access: Access | None = None,
        progress: Progress | None = None,
        available: Callable[[], Iterable[str]] = tuple,
    ) -> InstallResult:
        """Installs these skills; without refs, restores the lock and installs the configured plugins."""
        from metier.install import InstallOptions, ScopeLevel, ignore_progress, install, restore_and_install

        locked = [] if refs else self._locked_stores()
        if project is None:
            project = bool(locked)
        nearest = locked[0] if locked else None
        store = (project and nearest) or self.store(ScopeLevel.PROJECT if project else ScopeLevel.USER)
        options, access, progress = options or InstallOptions(), access or self.access(), progress or ignore_progress
        if not options.targets and not options.default_targets:
            options = replace(options, default_targets=self.default_targets(store.scope.level))
        if refs:
            return install(
                refs, store=store, access=access, options=options, scan=self._scan(access), available=available,
                progress=progress,
            )  # fmt: skip
        access = self.access_for(store, access)
        plugins = self.plugins if self.plugins and self.plugins_level is store.scope.level else ()
        return restore_and_install(
            plugins, store=store, access=access, options=options, scan=self._scan(access), available=available,
            progress=progress,
        )  # fmt: skip

    def default_targets(self, level: ScopeLevel) -> tuple[str, ...]:
        """Returns the agents that see a new skill unless others are named: `install.targets`, else those on this machine."""
        from metier.errors import ConfigError, UsageError
        from metier.install import default_targets

        setting = self.settings["install.targets"]
        try:
            return default_targets(self.settings.strings("install.targets"), self.scope(level))
        except UsageError as error:
            raise ConfigError(f"install.targets: {error}", file=setting.origin, hint=error.hint) from None

    def remember_targets(self, targets: Sequence[str]) -> None:
        """Stores the agents for new skills in the user's configuration."""
        from metier.config import KEYS, set_value
        from metier.install import NO_TARGETS

        set_value(self.paths.config_file, KEYS["install.targets"], tuple(targets) or (NO_TARGETS,))

    def update(
        self,
        names: Sequence[str] = (),
        *,
        project: bool | None = None,
        options: InstallOptions | None = None,
        access: Access | None = None,
        progress: Progress | None = None,
    ) -> tuple[tuple[SkillStore, tuple[SkillUpdate, ...], InstallResult], ...]:
        """Updates these skills, or all that are not pinned; one result for each scope. Edits are merged by default."""
        from metier.install import Edits, InstallOptions, LockFetcher, group_by_store, ignore_progress, update

        options = options or InstallOptions(edits=Edits.MERGE)
        access, progress = access or self.access(), progress or ignore_progress
        return tuple(
            (store, *update(store, fetcher, chosen, options, scan=self._scan(access)))
            for store, chosen in group_by_store(self.stores(project=project), names)
            for fetcher in [LockFetcher(self.access_for(store, access), progress=progress)]
        )

    def remove(
        self, names: Sequence[str], *, project: bool | None = None, force: bool = False, stores: Sequence[SkillStore] = ()
    ) -> tuple[InstallResult, ...]:
        """Removes these skills, and plugins from the user's configuration that provide no other; one result for each scope.

        With `stores`, only from these.
        """
        from metier.install import group_by_store, remove

        groups = group_by_store(stores or self.stores(project=project), names) if names else []
        providers = self._plugins_of(names)
        results = tuple(remove(store, chosen, force=force) for store, chosen in groups)
        self._forget(providers)
        return results

    def _plugins_of(self, names: Sequence[str]) -> list[ConfiguredPlugin]:
        """Returns the plugins of the user's own configuration that provide one of these skills."""
        from metier.install import ScopeLevel

        if not self.plugins or self.plugins_level is not ScopeLevel.USER:
            return []
        lock = self.store(ScopeLevel.USER).lock()
        entries = [entry for name in names if (entry := lock.get(name))]
        return [plugin for plugin in self.plugins if plugin.name in names or any(map(plugin.provides, entries))]

    def _forget(self, plugins: Sequence[ConfiguredPlugin]) -> None:
        """Deletes plugins from the configuration of which nothing is installed; the next restore would install them again."""
        if not plugins:
            return
        from metier.config import KEYS, change_rows
        from metier.install import ScopeLevel

        lock = self.store(ScopeLevel.USER).lock()
        gone = {(plugin.url, plugin.name) for plugin in plugins if not any(map(plugin.provides, lock))}
        if gone:
            change_rows(
                self.paths.config_file, KEYS["skills.plugins"], lambda row: (row.get("url"), row.get("name", "")) not in gone
            )

    @cached_property
    def plugins(self) -> tuple[ConfiguredPlugin, ...]:
        """The plugins listed under `skills.plugins`."""
        listed = self.settings["skills.plugins"]
        if listed.value is None:
            return ()
        from metier.install import read_plugins

        return read_plugins(listed.value, where=listed.origin)

    @cached_property
    def plugins_level(self) -> ScopeLevel:
        """The scope that the list of plugins belongs to."""
        from metier.install import ScopeLevel

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
        return named | {entry.name for entry in lock for plugin in off if plugin.provides(entry)}

    @cached_property
    def visibility(self) -> AgentVisibility:
        from metier.install import AgentVisibility

        return AgentVisibility(self.paths.user_home, self.paths.projects or (self.paths.folder,), self.environment)

    def access(
        self,
        *,
        offline: bool = False,
        insecure: bool = False,
        headers: Sequence[str] = (),
        with_cooldown: bool = True,
        **more: Any,
    ) -> Access:
        """Returns what fetching may use: the network unless `offline`, the user's registries, and the shared cache."""
        # Any: the fields of Access that only a test or an option sets.
        from metier.install import Access, parse_header

        shared = (os.path.join(self.paths.user_home, name, "skills") for name in (".agents", ".claude"))
        return Access(
            environment=self.environment, folder=self.paths.folder, offline=offline, insecure=insecure, cache=self.cache,
            places=(self.user_dir, *shared, self.plugins_dir),
            sources=self.registries.sources, rules=self.source_rules, cooldown=self.cooldown if with_cooldown else None,
            headers=tuple(map(parse_header, headers)), **more,
        )  # fmt: skip

    @property
    def cooldown(self) -> Cooldown | None:
        """The minimum age of a version: the longer of the user's and the administrator's settings."""
        from metier.errors import ConfigError, UsageError
        from metier.install import Cooldown, read_duration

        name, found = "install.cooldown", []
        for value in (self.settings[name], self.settings.system.get(name)):
            try:
                found += [Cooldown(seconds=read_duration(value.value), origin=value.origin)] if value else []
            except UsageError as error:
                raise ConfigError(f"{name}: {error}", file=value.origin if value else "", hint=error.hint) from None
        longest = max(found, key=lambda one: one.seconds)
        return longest if longest.seconds else None

    @cached_property
    def source_rules(self) -> SourceRules:
        """The sources that the user and the administrator allow and deny."""
        from metier.config import source_patterns
        from metier.install import SourceList, SourceRules

        def lists(name: str) -> tuple[SourceList, ...]:
            found = source_patterns(self.settings, name)
            return tuple(SourceList(patterns=patterns, origin=origin) for origin, patterns in found if patterns)

        return SourceRules(allow=lists("install.allow_sources"), deny=lists("install.deny_sources"))

    def access_for(self, store: SkillStore, access: Access) -> Access:
        """Returns the access for what a store's lock names, which an untrusted project may have written."""
        from metier.install import ScopeLevel

        if store.scope.level is not ScopeLevel.PROJECT or self.trusts(store.scope.root):
            return access
        return replace(access, untrusted_lock=store.scope.lock_file)

    @property
    def cache(self) -> SkillCache:
        from metier.install import SkillCache

        return SkillCache(self.paths.cache("skills"))

    @property
    def scan(self) -> Scan:
        """Scans what is installed. A pass is cached by the content that was scanned."""
        from metier.install import cached_scan

        return cached_scan(self.cache)

    def _scan(self, access: Access) -> AdvisedScan:
        """Scans what is to be installed, and compares it with the advisories each time."""
        from metier.install import AdvisedScan

        return AdvisedScan(scan=self.scan, find_advisories=lambda: self.find_advisories(access.offline))
