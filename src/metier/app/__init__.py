"""The composition root: the only place that chooses implementations.

Everything above it asks an App; everything below it is handed what it needs. An App is made from three facts (environment,
current folder, flags) and looks nothing else up, so a test builds one as easily as the command line does.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metier.config import Plain, Settings, read_settings
from metier.config.options import budgets, one_of, patterns, tables

from .conversations import Conversations
from .registries import Registries

if TYPE_CHECKING:
    from threading import Event

    from metier.catalog import Catalog, CatalogFilters, Entry
    from metier.install.configured_plugins import ConfiguredPlugin
    from metier.install.fetch.cache import SkillCache
    from metier.install.fetch.job import Access
    from metier.install.protocols import Scan
    from metier.install.store import SkillStore
    from metier.install.targets.agent_visibility import AgentVisibility
    from metier.install.targets.scope import InstallScope, ScopeLevel
    from metier.mcp.remote_servers import RemoteServers
    from metier.mcp.tools import OpenSession
    from metier.mcp.watcher import SkillWatcher
    from metier.runtime import (
        ApprovalHook,
        FileApprovals,
        Interpreters,
        LazySelector,
        Permissions,
        Runner,
        Session,
        SessionOptions,
        SessionServices,
        SqliteSessionStore,
        Telemetry,
    )
    from metier.selection import Selector
    from metier.sources import CatalogUpdate, DiscoveryLimits, LocalMachine, SkillLoader, SourceFolder, Trust
    from metier.spec import Files

__all__ = ["App"]

_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"


# Rooms are imported where they are used: a listing must not pay for what runs scripts, nor an installation for a catalog.


class App(Conversations, Registries):
    def __init__(
        self, *, environment: Mapping[str, str] | None = None, folder: str | os.PathLike[str] | None = None,
        flags: Mapping[str, Plain] | None = None,
    ) -> None:  # fmt: skip
        self.environment = os.environ if environment is None else environment
        self.folder = os.path.abspath(folder or os.getcwd())
        self.flags = dict(flags or {})

    @cached_property
    def user_home(self) -> str:
        return self.environment.get("HOME") or os.path.expanduser("~")

    @cached_property
    def home(self) -> Path:
        """Everything metier keeps: configuration, skills, plugins, cache."""
        return Path(self.environment.get("METIER_HOME") or os.path.join(self.user_home, ".metier")).absolute()

    @property
    def config_file(self) -> Path:
        return self.home / "config.toml"

    @property
    def project_config_file(self) -> Path:
        return Path(self.folder) / ".metier" / "config.toml"

    @cached_property
    def trust(self) -> Trust:
        from metier.sources import Trust

        return Trust(str(self.home / "trust.json"))

    @cached_property
    def is_trusted(self) -> bool:
        """May skills and settings of the current folder be used?"""
        return self.environment.get("METIER_TRUST") == "1" or self.trust.covers(self.folder)

    @cached_property
    def settings(self) -> Settings:
        files = [self.config_file]
        if self.is_trusted:
            files.append(self.project_config_file)
        defaults = {"skills.user_dir": str(self.home / "skills"), "skills.plugins_dir": str(self.home / "plugins")}
        return read_settings(files, environment=self.environment, flags=self.flags, defaults=defaults, folder=self.folder)

    @cached_property
    def filters(self) -> CatalogFilters:
        from metier.catalog import CatalogFilters

        words = self.settings.words
        return CatalogFilters(
            disabled=frozenset(words("skills.disabled")) | self._plugins_off,
            enabled=frozenset(words("skills.enabled")),
            disabled_bundled=frozenset(words("skills.disabled_bundled")),
            enabled_bundled=frozenset(words("skills.enabled_bundled")),
            allow=words("skills.allow"),
            deny=words("skills.deny"),
        )

    @cached_property
    def plugins(self) -> tuple[ConfiguredPlugin, ...]:
        """What the configuration lists under `skills.plugins`."""
        listed = self.settings["skills.plugins"]
        if listed.value is None:
            return ()
        from metier.install.configured_plugins import read_plugins

        return read_plugins(listed.value, where=listed.origin)

    @cached_property
    def plugins_level(self) -> ScopeLevel:
        """Whose list that is: the project's where its file has one."""
        from metier.install.targets.scope import ScopeLevel

        # In the home folder itself, the project's file is the user's.
        of_user = self.settings["skills.plugins"].origin.startswith(f"{self.config_file}:")
        return ScopeLevel.USER if of_user else ScopeLevel.PROJECT

    @property
    def _plugins_off(self) -> frozenset[str]:
        off = [plugin for plugin in self.plugins if not plugin.enabled]
        named = frozenset(plugin.name for plugin in off if plugin.name)
        if len(named) == len(off):
            return named
        # Without a name, only the lock knows which skills came from there.
        lock = self.installed(self.plugins_level).lock()
        return named | {entry.name for entry in lock for plugin in off if plugin.brought(entry)}

    @cached_property
    def machine(self) -> LocalMachine:
        from metier.sources import LocalMachine

        return LocalMachine(self.environment.get("PATH"))

    @cached_property
    def cache_file(self) -> str:
        return str(self.home / "cache" / "catalog.sqlite")

    @property
    def user_dir(self) -> str:
        return self.settings.path("skills.user_dir") or str(self.home / "skills")

    @property
    def plugins_dir(self) -> str:
        return self.settings.path("skills.plugins_dir") or str(self.home / "plugins")

    @cached_property
    def places(self) -> tuple[SourceFolder, ...]:
        from metier.sources import standard_folders

        return standard_folders(
            home=self.user_home,
            user_dir=self.user_dir,
            plugins_dir=self.plugins_dir,
            project=self.folder,
            project_trusted=self.is_trusted,
            skills_dir=self.settings.path("skills.dir"),
        )

    @cached_property
    def catalog(self) -> Catalog:
        return self.fresh_catalog()

    def fresh_catalog(self) -> Catalog:
        from metier.sources import MetadataCache, build_catalog

        return build_catalog(
            self.places,
            filters=self.filters,
            machine=self.machine,
            cache=MetadataCache(self.cache_file) if self.settings.truth("cache.enabled") else None,
            limits=self.limits,
            below=self.remote_servers.offers() if self.settings["skills.mcp"].value else (),
        )

    @property
    def limits(self) -> DiscoveryLimits:
        from metier.sources import DiscoveryLimits

        return DiscoveryLimits(
            depth=self.settings.number("skills.max_depth"), directories=self.settings.number("skills.max_directories")
        )

    @cached_property
    def loader(self) -> SkillLoader:
        from metier.sources import SkillLoader

        return SkillLoader(self.catalog)

    @cached_property
    def selector(self) -> Selector:
        """Ranks the skills that a model may use. Its index is kept beside the cache."""
        return self.selector_of(self.catalog)

    def selector_of(self, catalog: Catalog, *, semantic: bool | None = None) -> Selector:
        """`semantic` stands above the setting."""
        # Imported here: numpy costs 80 ms, and only a request needs it.
        from metier.sources import open_selector

        usable = [entry for entry in catalog if entry.is_for_models]
        kept = str(self.home / "cache" / "selection.index") if self.settings.truth("cache.enabled") else None
        by_meaning = self.settings.truth("selection.semantic") if semantic is None else semantic
        return open_selector(usable, kept, semantic=by_meaning)

    @cached_property
    def users_settings(self) -> Settings:
        """The settings without the project's file: trusting a folder for its skills must not let it write your policy."""
        return read_settings([self.config_file], environment=self.environment, flags=self.flags, folder=self.folder)

    @cached_property
    def store(self) -> SqliteSessionStore:
        from metier.runtime import SqliteSessionStore

        return SqliteSessionStore(self.users_settings.path("session.store") or str(self.home / "sessions.sqlite"))

    @cached_property
    def approvals(self) -> FileApprovals:
        from metier.runtime import FileApprovals

        return FileApprovals(self.home / "approvals.json")

    def permissions(self, approve: ApprovalHook | None = None) -> Permissions:
        """What the user allows. `approve` is asked about the rest; without it the rest is refused."""
        import shutil

        from metier.runtime import Permissions, Policy, PolicyVerdict

        settings = self.users_settings
        words = {
            name: one_of(settings, f"policy.{name}", PolicyVerdict) for name in ("scripts", "network", "toolsets", "tools")
        }
        allow, deny = (patterns(settings, f"policy.{name}") for name in ("allow", "deny"))
        policy = Policy(allow=allow, deny=deny, **words)
        return Permissions(
            policy=policy, approvals=self.approvals, approve=approve, which=lambda name: shutil.which(name, path=_SYSTEM_PATH)
        )

    def session_options(self) -> SessionOptions:
        from metier.runtime import ActivationMode, IsolationLevel, Limits, SessionOptions

        settings, users = self.settings, self.users_settings
        return SessionOptions(
            max_active=settings.number("skills.max_active"),
            mode=one_of(settings, "session.mode", ActivationMode),
            pinned=frozenset(settings.words("session.pinned")),
            instruction_tokens=settings.number("session.instruction_tokens"),
            parameters=tables(settings, "skills.parameters"),
            environment={name: text for name, text in self.environment.items() if name in users.words("sandbox.environment")},
            limits=Limits(
                seconds=users.number("skills.script_timeout"), output_bytes=users.number("sandbox.output_bytes"),
                memory_bytes=users.number("sandbox.memory_bytes"), require=one_of(users, "sandbox.require", IsolationLevel),
            ),
            budgets=budgets(users),
        )  # fmt: skip

    @cached_property
    def runner(self) -> Runner:
        return self.runner_with(None)

    def runner_with(self, interpreters: Interpreters | None) -> Runner:
        from metier.runtime import IsolationLevel, Runner

        runner = Runner(interpreters=interpreters)
        require = self.session_options().limits.require
        if require in (IsolationLevel.LIMITS, IsolationLevel.OFF) and runner.best() is None:
            # The weak levels are never chosen silently: here the user has named one.
            return Runner(level=require, interpreters=interpreters)
        return runner

    def session(
        self, id: str | None = None, *, approve: ApprovalHook | None = None, kept: bool = True,  # noqa: A002
        only: Container[str] | None = None,
    ) -> Session:  # fmt: skip
        """A conversation over these skills, or `only` some. A kept one can be gone on with by its id; another ends with us."""
        from metier.runtime import LazySelector, Session

        catalog = self.catalog if only is None else self.catalog.only(only)
        selector = LazySelector(lambda: self.selector if only is None else self.selector_of(catalog))
        return Session(
            catalog, id=id, options=self.session_options(), services=self._services(approve, kept=kept, selector=selector)
        )

    def _services(self, approve: ApprovalHook | None, *, kept: bool, selector: LazySelector) -> SessionServices:
        from metier.runtime import EventBus, LazyRunner, MemorySessionStore, SessionServices

        bus = EventBus()
        if self.users_settings.truth("telemetry.enabled"):
            bus.subscribe(self.telemetry)
        return SessionServices(
            store=self.store if kept else MemorySessionStore(),
            runner=LazyRunner(lambda: self.runner),
            permissions=self.permissions(approve),
            bus=bus,
            selector=selector,
            remote_files=lambda entry: self.remote_servers.files(entry),
        )

    @cached_property
    def remote_servers(self) -> RemoteServers:
        """MCP servers whose skills are used. Only the user names them: a project could name any program."""
        from metier.mcp.remote_servers import RemoteServers

        cache = str(self.home / "cache" / "mcp")
        return RemoteServers(self.users_settings["skills.mcp"].value, cache=cache, environment=self.environment)

    def files_of(self, entry: Entry, *, offline: bool = False) -> Files:
        from metier.catalog import Source
        from metier.sources import DiskFiles

        return self.remote_servers.files(entry, offline=offline) if entry.source is Source.MCP else DiskFiles(entry.folder)

    def skill_watcher(self, *, scripts: bool) -> tuple[SkillWatcher, OpenSession]:
        """What an MCP server offers, kept current while it runs, and the sessions that it works with."""
        from metier.mcp.watcher import SkillWatcher
        from metier.runtime import LazySelector, Session

        selectors: dict[int, LazySelector] = {}

        def open_session(catalog: Catalog) -> Session:
            # One selector for each catalog, of which only the newest is asked.
            if id(catalog) not in selectors:
                selectors.clear()
                selectors[id(catalog)] = LazySelector(lambda: self.selector_of(catalog))
            services = self._services(None, kept=False, selector=selectors[id(catalog)])
            return Session(catalog, options=self.session_options(), services=services)

        return SkillWatcher(lambda stop: self.watch(stop, files=True), open_session, scripts=scripts), open_session

    @cached_property
    def telemetry(self) -> Telemetry:
        from metier.runtime import otlp_telemetry

        settings = self.users_settings
        return otlp_telemetry(content=settings.truth("telemetry.content"), metrics=settings.truth("telemetry.metrics"))

    def watch(self, stop: Event | None = None, *, files: bool = False) -> Iterator[CatalogUpdate]:
        from metier.sources import watch

        return watch(self.places, self.fresh_catalog, stop=stop, files=files)

    def scope(self, level: ScopeLevel) -> InstallScope:
        """Where a user's, or this project's, installed skills are."""
        from metier.install.targets.scope import InstallScope, ScopeLevel

        return InstallScope(
            level=level, root=str(self.home) if level is ScopeLevel.USER else self.folder, home=self.user_home,
            plugins=self.plugins_dir, environment=self.environment,
        )  # fmt: skip

    def installed(self, level: ScopeLevel) -> SkillStore:
        """What is installed there, and the way to change it."""
        from metier.install.store import SkillStore

        return SkillStore(self.scope(level))

    @cached_property
    def sight(self) -> AgentVisibility:
        """Which agents see which skill."""
        from metier.install.targets.agent_visibility import AgentVisibility

        return AgentVisibility(self.user_home, self.folder, self.environment)

    def access(self, *, offline: bool = False, insecure: bool = False, headers: Sequence[str] = (), **more: Any) -> Access:
        """What fetching may use: the network unless `offline`, the user's sources, and the cache that projects share."""
        # Any: the fields of Access that only a test or an option sets.
        from metier.install.fetch.credentials import parse_header
        from metier.install.fetch.job import Access

        shared = (os.path.join(self.user_home, name, "skills") for name in (".agents", ".claude"))
        return Access(
            environment=self.environment, folder=self.folder, offline=offline, insecure=insecure, cache=self.skill_cache,
            places=(self.user_dir, *shared, self.plugins_dir),
            sources=self.registries,
            headers=tuple(map(parse_header, headers)), **more,
        )  # fmt: skip

    @property
    def skill_cache(self) -> SkillCache:
        from metier.install.fetch.cache import SkillCache

        return SkillCache(str(self.home / "cache" / "skills"))

    @property
    def scan(self) -> Scan:
        """The judge of what is installed. What passed once is remembered in the cache, by what it contains."""
        from metier.install.scan_cache import cached_scan

        return cached_scan(self.skill_cache)
