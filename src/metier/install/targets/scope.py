"""Where an installed skill goes: one copy, and the folders of other agents that must see it too.

A scope is the user or one project. Each has one lock file and one folder for canonical copies; an agent that reads another
folder gets a link to the copy, or with `--copy` a copy of its own. A user's skill that is meant for metier alone goes to
metier's plugins, where no other agent looks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from enum import StrEnum

from metier.errors import UsageError, nearest
from metier.hosts.known_hosts import ALIASES, HOSTS, SHARED_FOLDER
from metier.values import dataclass

__all__ = [
    "ALL_DETECTED",
    "JOURNAL",
    "LOCK_FILE",
    "InstallMode",
    "InstallScope",
    "ScopeLevel",
    "detected_hosts",
    "read_targets",
]

LOCK_FILE = "metier.lock"
JOURNAL = ".metier-journal"
ALL_DETECTED = "all-detected"
_METIER = "metier"


class ScopeLevel(StrEnum):
    USER = "user"
    PROJECT = "project"


class InstallMode(StrEnum):
    """How an agent that reads another folder sees the skill."""

    LINK = "link"
    COPY = "copy"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallScope:
    level: ScopeLevel
    root: str
    """Holds the lock file: metier's home, or the project."""
    home: str
    """The user's home."""
    plugins: str
    """Where a user's skill goes that only metier should see."""
    environment: Mapping[str, str]

    @property
    def lock_file(self) -> str:
        return os.path.join(self.root, LOCK_FILE)

    @property
    def journal(self) -> str:
        return os.path.join(self.root, JOURNAL)

    @property
    def shared(self) -> str:
        return os.path.join(self.home if self.level is ScopeLevel.USER else self.root, SHARED_FOLDER)

    @property
    def kept(self) -> str:
        """Where a version with somebody's edits is kept: no agent looks there, so it is not a second skill of that name."""
        return os.path.join(self.root, "kept") if self.level is ScopeLevel.USER else os.path.join(self.root, ".metier", "kept")

    def copy_folder(self, targets: Iterable[str]) -> str:
        """The folder of the canonical copy."""
        return self.shared if self.level is ScopeLevel.PROJECT or tuple(targets) else self.plugins

    def folder_of(self, client: str) -> str | None:
        known = HOSTS[client]
        if self.level is ScopeLevel.PROJECT:
            return known.project_folder(self.root)
        return known.user_folder(self.home, self.environment)

    def other_folders(self, targets: Iterable[str]) -> tuple[str, ...]:
        """The folders, beside that of the canonical copy, in which these agents look."""
        folders = [self.folder_of(target) for target in targets]
        if not folders:
            return ()
        shared = os.path.realpath(self.shared)
        # A home that is a link, or a client's folder that somebody linked to the shared one, is one folder under two names.
        return tuple(dict.fromkeys(folder for folder in folders if folder and os.path.realpath(folder) != shared))

    @property
    def parents(self) -> frozenset[str]:
        """Every folder below which installing may ever change something."""
        clients = (self.folder_of(client) for client in HOSTS)
        own = () if self.level is ScopeLevel.PROJECT else (self.plugins,)
        return frozenset((*own, self.shared, self.kept, *(folder for folder in clients if folder)))


def detected_hosts(home: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The agents on this machine, by the folders that they leave behind."""
    marked = ((name, client.marked_folder(home, environment)) for name, client in HOSTS.items())
    return tuple(name for name, mark in marked if mark and os.path.isdir(mark))


def read_targets(words: Iterable[str], scope: InstallScope) -> tuple[str, ...]:
    """Names of agents as people type them: separated by commas, `all-detected` for those that are here."""
    names: list[str] = []
    for word in (part.strip() for text in words for part in text.split(",")):
        if word == ALL_DETECTED:
            names += detected_hosts(scope.home, scope.environment)
        elif word and word != _METIER:
            names.append(_known(word, scope))
    return tuple(sorted(dict.fromkeys(names)))


def _known(word: str, scope: InstallScope) -> str:
    name = ALIASES.get(word, word)
    if name not in HOSTS:
        near = nearest(word, [*HOSTS, *ALIASES, ALL_DETECTED])
        raise UsageError(f"no agent is called {word!r}",
                       hint=f"did you mean {near!r}?" if near else f"one of: {', '.join(sorted(HOSTS))}")  # fmt: skip
    if scope.folder_of(name) is None:
        raise UsageError(f"{name} has no folder for a {scope.level}'s skills", hint="add --project")
    return name
