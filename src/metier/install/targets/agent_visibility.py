"""The hosts on this machine that see a skill: those whose folder contains it, or a link to it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from metier.hosts import HOSTS, detect_hosts

__all__ = ["AgentVisibility"]


class AgentVisibility:
    """Reads the folders once; each question then costs two dictionary lookups."""

    def __init__(self, home: str, projects: Sequence[str], environment: Mapping[str, str]) -> None:
        markers = (host.marker_folder(home, environment) for host in HOSTS.values())
        self.markers = tuple(dict.fromkeys(marker for marker in markers if marker))
        """Folders whose existence decides which hosts are installed."""
        names = detect_hosts(home, environment)
        pairs = [(name, folder) for name in names for folder in _folders(name, home, projects, environment)]
        self.folders = tuple(dict.fromkeys(folder for _, folder in pairs))
        """Every folder in which one of the installed hosts looks."""
        self._readers: dict[str, list[str]] = {}
        for name, folder in pairs:
            readers = self._readers.setdefault(os.path.realpath(folder), [])
            if name not in readers:
                readers.append(name)
        self._linked: dict[str, list[str]] = {}
        for folder, readers in self._readers.items():
            for target in _targets(folder):
                self._linked.setdefault(target, []).extend(readers)

    def hosts_of(self, folder: str) -> tuple[str, ...]:
        """Returns the names of the hosts that see the skill in this folder."""
        direct = self._readers.get(os.path.dirname(folder), ())
        linked = self._linked.get(folder, ())
        return tuple(sorted({*direct, *linked})) if direct or linked else ()


def _folders(name: str, home: str, projects: Sequence[str], environment: Mapping[str, str]) -> Iterator[str]:
    host = HOSTS[name]
    yield from map(host.project_folder, projects)
    user = host.user_folder(home, environment)
    if user:
        yield user


def _targets(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as children:
            yield from [os.path.realpath(child.path) for child in children if child.is_symlink()]
    except OSError:
        return
