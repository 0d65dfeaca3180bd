"""The lists of installed skills: found by folder for the runtime, and agreed to by the user.

A list in the user's own lock is the user's. A project's lock came with the project, so its list counts only as the user was
shown it: the agreement is an approval in the user's home, bound to the list and to the files of the skill.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from metier.values import dataclass

if TYPE_CHECKING:
    from metier.install import InstallResult, LockEntry, SkillStore
    from metier.runtime import Approvals, CapabilityList

    from .installation import Installation

__all__ = ["CapabilityLists"]


@dataclass(frozen=True, kw_only=True)
class CapabilityLists:
    installation: Installation
    approvals: Callable[[], Approvals]

    def find(self, folder: str) -> CapabilityList | None:
        """Returns the list of the skill in a folder; None if no lock has installed it, or its lock has no list."""
        from metier.errors import ConfigError
        from metier.runtime import CapabilityList

        real = os.path.realpath(folder)
        for store in self._stores():
            try:
                found = _entry_of(store, real)
            except ConfigError:
                if (real + os.sep).startswith(os.path.realpath(store.scope.root) + os.sep):
                    # A lock that cannot be read lists nothing.
                    return CapabilityList(is_agreed=False)
                continue
            if found is not None and found.capabilities is not None:
                is_agreed = self._is_agreed(store, found)
                return CapabilityList(listed=found.capabilities, is_agreed=is_agreed)
            if found is not None:
                return None
        return None

    def locked(self, folder: str) -> LockEntry | None:
        """Returns the lock entry of the skill in a folder; None if no lock has installed it, or the lock cannot be read."""
        from metier.errors import ConfigError

        for store in self._stores():
            with contextlib.suppress(ConfigError):
                if found := _entry_of(store, os.path.realpath(folder)):
                    return found
        return None

    def _stores(self) -> list[SkillStore]:
        """Returns the same object for the same lock, so that a lock is parsed once."""
        return [self._known.setdefault(store.scope.lock_file, store) for store in self.installation.stores()]

    @cached_property
    def _known(self) -> dict[str, SkillStore]:
        return {}

    def agree(self, result: InstallResult) -> tuple[str, ...]:
        """Stores that the user was shown the lists of these skills. Returns the names of those that are new."""
        from metier.install import ScopeLevel, SkillStore

        if result.scope.level is not ScopeLevel.PROJECT or not result.done or result.declined:
            return ()
        from metier.runtime import approval_digest
        from metier.sources import DiskFiles

        store, new = SkillStore(result.scope), []
        for name in dict.fromkeys((*result.names, *result.changed)):
            entry = result.lock.get(name)
            if entry is None or entry.capabilities is None or not os.path.isdir(store.folder_of(entry)):
                continue
            if not self._is_agreed(store, entry):
                digest = approval_digest(DiskFiles(store.folder_of(entry)))
                self.approvals().add(name, digest, _agreement(entry))
                new.append(name)
        return tuple(new)

    def _is_agreed(self, store: SkillStore, entry: LockEntry) -> bool:
        from metier.install import ScopeLevel

        if store.scope.level is not ScopeLevel.PROJECT:
            return True
        wanted = _agreement(entry)
        # The list belongs to the locked files; approvals of single things still end when a file is edited.
        return any(approval.pattern == wanted for approval in self.approvals().of_skill(entry.name))


def _entry_of(store: SkillStore, real: str) -> LockEntry | None:
    for entry in store.lock():
        if os.path.basename(real) in (entry.name, entry.base_name):
            paths = store.place(entry).paths
            if any(os.path.realpath(path) == real for path in paths):
                return entry
    return None


def _agreement(entry: LockEntry) -> str:
    listed = entry.capabilities.row() if entry.capabilities is not None else None
    text = json.dumps([entry.name, entry.digest, listed], sort_keys=True)
    return f"Capabilities({hashlib.sha256(text.encode()).hexdigest()[:32]})"
