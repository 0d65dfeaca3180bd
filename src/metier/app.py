"""The composition root: the only place that chooses implementations.

Everything above it asks an App; everything below it is handed what it needs. An App is made from three facts (environment,
current folder, flags) and looks nothing else up, so a test builds one as easily as the command line does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from metier.catalog import Catalog, Policy
from metier.config import Plain, Settings, read_settings
from metier.sources import (
    Limits,
    Machine,
    MetadataCache,
    Place,
    SkillLoader,
    Trust,
    Update,
    catalog_of,
    standard_places,
    watch,
)

if TYPE_CHECKING:
    from metier.selection import Selector

__all__ = ["App"]


class App:
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
    def policy(self) -> Policy:
        words = self.settings.words
        return Policy(
            disabled=frozenset(words("skills.disabled")),
            enabled=frozenset(words("skills.enabled")),
            disabled_bundled=frozenset(words("skills.disabled_bundled")),
            enabled_bundled=frozenset(words("skills.enabled_bundled")),
            allow=words("skills.allow"),
            deny=words("skills.deny"),
        )

    @cached_property
    def machine(self) -> Machine:
        return Machine(self.environment.get("PATH"))

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
    def places(self) -> tuple[Place, ...]:
        return standard_places(
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
        return catalog_of(
            self.places,
            policy=self.policy,
            machine=self.machine,
            cache=MetadataCache(self.cache_file) if self.settings.truth("cache.enabled") else None,
            limits=self.limits,
        )

    @property
    def limits(self) -> Limits:
        return Limits(
            depth=self.settings.number("skills.max_depth"), directories=self.settings.number("skills.max_directories")
        )

    @cached_property
    def loader(self) -> SkillLoader:
        return SkillLoader(self.catalog)

    @cached_property
    def selector(self) -> Selector:
        """Ranks the skills that a model may use. Its index is kept beside the cache."""
        # Imported here: numpy costs 80 ms, and only a request needs it.
        from metier.sources.index import open_selector

        usable = [entry for entry in self.catalog if entry.is_for_models]
        return open_selector(
            usable, str(self.home / "cache" / "selection.index") if self.settings.truth("cache.enabled") else None
        )

    def watch(self, stop: Event | None = None) -> Iterator[Update]:
        return watch(self.places, self.fresh_catalog, stop=stop)
