"""The folders of an installed skill: one canonical copy, and the folders of the hosts that should see it.

A scope is the user or one project. Each has one lock file and one folder for canonical copies; a host that reads another folder
gets a link to the copy, or with `--copy` its own copy. A user's skill for metier only goes to metier's plugins folder, where no
other host looks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from enum import StrEnum

from metier.errors import UsageError, nearest
from metier.hosts import HOST_ALIASES, HOSTS, SHARED_FOLDER, detect_hosts
from metier.values import dataclass

__all__ = [
    "ALL_DETECTED",
    "LOCK_FILE",
    "NO_TARGETS",
    "InstallMode",
    "InstallScope",
    "ScopeLevel",
    "default_targets",
    "read_targets",
]

LOCK_FILE = "metier.lock"
_JOURNAL = ".metier-journal"
ALL_DETECTED = "all-detected"
NO_TARGETS = "none"
_METIER_ONLY = (NO_TARGETS, "metier")


class ScopeLevel(StrEnum):
    USER = "user"
    PROJECT = "project"


class InstallMode(StrEnum):
    """The way a host that reads another folder gets the skill."""

    LINK = "link"
    COPY = "copy"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallScope:
    level: ScopeLevel
    root: str
    """The folder of the lock file: metier's home, or the project."""
    home: str
    """The user's home."""
    plugins: str
    """The folder of a user's skills for metier only."""
    environment: Mapping[str, str]
    metier_home: str
    """The folder of metier's own files, which no project can write."""
    user_skills: str = ""
    """The user's own skills folder, where extra versions are installed; empty for `skills` in metier's home."""

    @property
    def inside(self) -> str | None:
        """The folder that no write and no removal leaves. The user's own folders may be links to anywhere."""
        return self.root if self.level is ScopeLevel.PROJECT else None

    @property
    def lock_file(self) -> str:
        return os.path.join(self.root, LOCK_FILE)

    @property
    def journal(self) -> str:
        """The file that lists the renames of an unfinished installation. A cloned project cannot contain it."""
        if self.level is ScopeLevel.USER:
            return os.path.join(self.root, _JOURNAL)
        return os.path.join(self.metier_home, "journals", f"{_key(os.path.realpath(self.root))}.json")

    @property
    def old_journal(self) -> str | None:
        """The place of a project's journal before version 0.2, which is not read any more."""
        return os.path.join(self.root, _JOURNAL) if self.level is ScopeLevel.PROJECT else None

    @property
    def shared(self) -> str:
        return os.path.join(self.home if self.level is ScopeLevel.USER else self.root, SHARED_FOLDER)

    @property
    def kept(self) -> str:
        """The folder for edited versions that were replaced. No host looks there, so they are no second skill of that name."""
        return os.path.join(self.root, "kept") if self.level is ScopeLevel.USER else os.path.join(self.root, ".metier", "kept")

    @property
    def extra_versions(self) -> str:
        """The folder of versions that are installed beside another one. No other host looks there."""
        if self.level is ScopeLevel.PROJECT:
            return os.path.join(self.root, ".metier", "skills")
        return self.user_skills or os.path.join(self.metier_home, "skills")

    def copy_folder(self, targets: Iterable[str]) -> str:
        """Returns the folder of canonical copies for these targets."""
        return self.shared if self.level is ScopeLevel.PROJECT or tuple(targets) else self.plugins

    def folder_of(self, host: str) -> str | None:
        known = HOSTS[host]
        if self.level is ScopeLevel.PROJECT:
            return known.project_folder(self.root)
        return known.user_folder(self.home, self.environment)

    def other_folders(self, targets: Iterable[str]) -> tuple[str, ...]:
        """Returns the folders of these hosts other than the shared one."""
        folders = [self.folder_of(target) for target in targets]
        if not folders:
            return ()
        shared = os.path.realpath(self.shared)
        # The home, or a host's folder, may be a link to the shared one.
        return tuple(dict.fromkeys(folder for folder in folders if folder and os.path.realpath(folder) != shared))

    @property
    def parents(self) -> frozenset[str]:
        """Every folder that an installation may change."""
        folders = (self.folder_of(host) for host in HOSTS)
        own = () if self.level is ScopeLevel.PROJECT else (self.plugins,)
        return frozenset((*own, self.shared, self.kept, self.extra_versions, *(folder for folder in folders if folder)))


def read_targets(words: Iterable[str], scope: InstallScope) -> tuple[str, ...]:
    """Reads host names as typed: separated by commas, `all-detected` for those on this machine, `none` for metier alone."""
    names = _read_names(words, scope)
    for name in names:
        if scope.folder_of(name) is None:
            raise UsageError(f"{name} has no folder for {scope.level} skills", hint="add --project")
    return names


def default_targets(words: Iterable[str], scope: InstallScope) -> tuple[str, ...]:
    """Returns the hosts for a new skill: those that the user has set, else those on this machine.

    Hosts without a folder in this scope are left out.
    """
    names = _read_names(tuple(words) or (ALL_DETECTED,), scope)
    return tuple(name for name in names if scope.folder_of(name))


def _read_names(words: Iterable[str], scope: InstallScope) -> tuple[str, ...]:
    names: list[str] = []
    for word in (part.strip() for text in words for part in text.split(",")):
        if word == ALL_DETECTED:
            names += detect_hosts(scope.home, scope.environment)
        elif word and word not in _METIER_ONLY:
            names.append(_known(word))
    return tuple(sorted(dict.fromkeys(names)))


def _key(path: str) -> str:
    # Imported here: only a project's journal has a name that is a hash.
    import hashlib

    return hashlib.sha256(os.fsencode(path)).hexdigest()[:32]


def _known(word: str) -> str:
    name = HOST_ALIASES.get(word, word)
    if name not in HOSTS:
        near = nearest(word, [*HOSTS, *HOST_ALIASES, ALL_DETECTED, NO_TARGETS])
        raise UsageError(f"unknown agent {word!r}",
                       hint=f"did you mean {near!r}?" if near else f"one of: {', '.join(sorted(HOSTS))}")  # fmt: skip
    return name
