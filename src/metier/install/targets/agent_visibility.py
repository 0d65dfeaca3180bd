"""Which agents on this machine see which skill: those whose folder it is in, and those whose folder has a link to it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from metier.hosts.known_hosts import HOSTS

from .scope import detected_hosts

__all__ = ["AgentVisibility"]


class AgentVisibility:
    """Looked up once; then a question costs two dictionary lookups."""

    def __init__(self, home: str, project: str, environment: Mapping[str, str]) -> None:
        marks = (client.marked_folder(home, environment) for client in HOSTS.values())
        self.marks = tuple(dict.fromkeys(mark for mark in marks if mark))
        """Folders whose existence decides which agents are here."""
        names = detected_hosts(home, environment)
        pairs = [(name, folder) for name in names for folder in _folders(name, home, project, environment)]
        self.folders = tuple(dict.fromkeys(folder for _, folder in pairs))
        """Every folder in which one of them looks."""
        self._readers: dict[str, list[str]] = {}
        for name, folder in pairs:
            readers = self._readers.setdefault(os.path.realpath(folder), [])
            if name not in readers:
                readers.append(name)
        self._linked: dict[str, list[str]] = {}
        for folder, readers in self._readers.items():
            for target in _targets(folder):
                self._linked.setdefault(target, []).extend(readers)

    def of(self, folder: str) -> tuple[str, ...]:
        """The agents that see the skill in this folder."""
        direct = self._readers.get(os.path.dirname(folder), ())
        linked = self._linked.get(folder, ())
        return tuple(sorted({*direct, *linked})) if direct or linked else ()


def _folders(name: str, home: str, project: str, environment: Mapping[str, str]) -> Iterator[str]:
    client = HOSTS[name]
    yield client.project_folder(project)
    user = client.user_folder(home, environment)
    if user:
        yield user


def _targets(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as children:
            yield from [os.path.realpath(child.path) for child in children if child.is_symlink()]
    except OSError:
        return
