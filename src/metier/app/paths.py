"""The files and folders that metier keeps, all derived from the environment and the current folder."""

from __future__ import annotations

import os
from collections.abc import Mapping

from metier.sources import project_chain
from metier.values import dataclass

__all__ = ["SYSTEM_CONFIG_FILE", "Paths"]

_OF_A_PROJECT = ("metier.lock", ".metier", ".agents")

SYSTEM_CONFIG_FILE = "/etc/metier/config.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    user_home: str
    home: str
    """METIER_HOME: configuration, installed skills, caches."""
    folder: str
    """The current folder."""
    projects: tuple[str, ...] = ()
    """The folders from the root of its git repository down to the current folder; empty stands for that folder alone."""
    system_config_file: str = SYSTEM_CONFIG_FILE
    """The administrator's settings. No environment variable moves it, because users and projects can set those."""

    @classmethod
    def of(cls, environment: Mapping[str, str], folder: str, *, system_config_file: str | None = None) -> Paths:
        user_home = environment.get("HOME") or os.path.expanduser("~")
        home = environment.get("METIER_HOME") or os.path.join(user_home, ".metier")
        return cls(
            user_home=user_home, home=os.path.abspath(home), folder=folder, projects=project_chain(folder, home=user_home),
            system_config_file=system_config_file or SYSTEM_CONFIG_FILE,
        )  # fmt: skip

    @property
    def config_file(self) -> str:
        return self.at("config.toml")

    @property
    def project(self) -> str:
        """The nearest folder of the repository that has settings, else the one with its project skills."""
        found = (each for each in reversed(self.projects) if os.path.lexists(_project_config(each)))
        return next(found, None) or self.install_project

    @property
    def install_project(self) -> str:
        """The folder into which project skills are installed: the nearest of the repository that has a lock or skills.

        The root of the repository if none has. Without a repository, the current folder.
        """
        chain = self.projects or (self.folder,)
        marked = (each for each in reversed(chain) if any(os.path.lexists(os.path.join(each, name)) for name in _OF_A_PROJECT))
        return next(marked, chain[0])

    @property
    def locked_projects(self) -> tuple[str, ...]:
        """The folders of the repository that have a lock and apply here, the nearest first."""
        chain = self.projects or (self.folder,)
        return tuple(each for each in reversed(chain) if os.path.lexists(os.path.join(each, "metier.lock")))

    @property
    def project_config_file(self) -> str:
        return _project_config(self.project)

    @property
    def project_config_files(self) -> tuple[str, ...]:
        """Every file that could hold the project's settings."""
        return tuple(map(_project_config, self.projects or (self.folder,)))

    @property
    def catalog_cache(self) -> str:
        return self.cache("catalog.sqlite")

    def inside(self, path: str) -> str | None:
        """Returns the current folder or project if the path is in it: a write there must not leave it by a link. Else None."""
        absolute = os.path.abspath(os.path.join(self.folder, path))
        roots = (self.folder, self.install_project)
        return next((root for root in roots if f"{absolute}/".startswith(os.path.join(root, ""))), None)

    def at(self, *names: str) -> str:
        """Returns a path below `home`."""
        return os.path.join(self.home, *names)

    def cache(self, *names: str) -> str:
        return self.at("cache", *names)


def _project_config(folder: str) -> str:
    return os.path.join(folder, ".metier", "config.toml")
