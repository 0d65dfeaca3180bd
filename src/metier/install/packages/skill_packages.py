"""The packages of the scripts of skills on this machine: declared, locked, and built.

The lock of an installed skill is in its `metier.lock`. A skill that was not installed (bundled, or in a folder of its own) has
no entry there; its packages are locked in a file of metier's home, named by the digest of what it declares.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence

from metier.install.lock.lock_file import LockEntry
from metier.install.lock.locked_packages import LockedPackages, parse_packages
from metier.install.store import SkillStore
from metier.sources import DiskFiles, read_regular, replace_text
from metier.spec import DeclaredPackages, declared_packages, script_files
from metier.values import dataclass, replace

from .environments import EnvironmentCache, PackageEnvironment
from .programs import PackagePrograms

__all__ = ["SkillPackageStatus", "SkillPackages", "package_changes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillPackageStatus:
    """The packages of one declaration, as far as they are prepared."""

    declared: DeclaredPackages
    locked: LockedPackages | None = None
    environment: PackageEnvironment | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillPackages:
    cache: EnvironmentCache
    programs: PackagePrograms
    locks: str
    """The folder of the locks of skills that were not installed."""
    stores: Callable[[], Sequence[SkillStore]] = tuple

    def declared(self, folder: str) -> tuple[DeclaredPackages, ...]:
        """Returns what the scripts of a skill declare. Raises RefusedError if a declaration is not supported."""
        files = DiskFiles(folder)
        return declared_packages(files, script_files(files))

    def locked(self, folder: str, declared: DeclaredPackages) -> LockedPackages | None:
        """Returns the lock of this declaration; None if there is none, or only that of an earlier one."""
        found = self.earlier(folder, declared)
        return found if found is not None and found.declared == declared.digest else None

    def earlier(self, folder: str, declared: DeclaredPackages) -> LockedPackages | None:
        """Returns what is locked for the file of this declaration, also if the file declares something else by now."""
        owner = self._owner(folder)
        if owner is None:
            return self._own_lock(declared)
        return next((one for one in owner[1].packages if one.path == declared.path), None)

    def find(self, folder: str, declared: DeclaredPackages) -> PackageEnvironment | None:
        """Returns the prepared environment; None if there is none. Raises RefusedError if it was changed."""
        locked = self.locked(folder, declared)
        found = self.cache.find(locked, skill=os.path.basename(folder)) if locked is not None else None
        if locked is None or found is None or found.is_python_same:
            return found
        # Any Python of the version can use it.
        from .pythons import find_python

        python = find_python(locked.python, self.programs.find, skill=os.path.basename(folder))
        return replace(found, python=python.executable)

    def resolve(self, folder: str, declared: DeclaredPackages, *, upgrade: bool = False, python: str = "") -> LockedPackages:
        """Returns the lock. Without one, or with `upgrade`, versions are looked up in the index now; nothing is written."""
        found = self.locked(folder, declared)
        if found is not None and not upgrade:
            return found
        # Imported here: a run with prepared packages resolves nothing.
        from .resolve import resolve

        return resolve(declared, self.programs, previous=None if upgrade else self.earlier(folder, declared), python=python)

    def prepare(self, folder: str, declared: DeclaredPackages, locked: LockedPackages) -> PackageEnvironment:
        """Builds the environment of a lock, unless it is built, and then keeps the lock."""
        from .build import PackageBuild

        build = PackageBuild(locked=locked, declared=declared, programs=self.programs, skill=os.path.basename(folder))
        environment = self.cache.build(locked, build)
        if locked != self.locked(folder, declared):
            self._keep(folder, declared, locked)
        return environment

    def status(self, folder: str) -> tuple[SkillPackageStatus, ...]:
        """Returns the state of everything that a skill declares. An environment that was changed is a problem."""
        found = []
        for declared in self.declared(folder):
            locked = self.locked(folder, declared)
            try:
                environment = self.cache.find(locked, skill=os.path.basename(folder)) if locked else None
                found.append(SkillPackageStatus(declared=declared, locked=locked, environment=environment))
            except PermissionError as error:
                found.append(SkillPackageStatus(declared=declared, locked=locked, problem=str(error)))
        return tuple(found)

    def differences(self, entry: LockEntry) -> tuple[str, ...]:
        """Returns how the built environments of an installed skill differ from what was built, by the hashes of all files."""
        return tuple(f"{one.path}: {each}" for one in entry.packages for each in self.cache.verify(one) or ())

    def _owner(self, folder: str) -> tuple[SkillStore, LockEntry] | None:
        """Returns the entry of an installed skill, and its store."""
        name, real = os.path.basename(folder), os.path.realpath(folder)
        for store in self.stores():
            entry = store.lock().get(name)
            if entry is not None and real in map(os.path.realpath, store.place(entry).paths):
                return store, entry
        return None

    def _keep(self, folder: str, declared: DeclaredPackages, locked: LockedPackages) -> None:
        owner = self._owner(folder)
        if owner is None:
            table = {"kind": locked.kind, "declared": locked.declared, "python": locked.python, "locked": dict(locked.rows)}
            replace_text(self._lock_file(declared), json.dumps(table, indent=1, sort_keys=True) + "\n")
            return
        current = {one.path for one in self.declared(folder)}

        def with_packages(entry: LockEntry) -> LockEntry:
            others = tuple(one for one in entry.packages if one.path != locked.path and one.path in current)
            return replace(entry, packages=tuple(sorted((*others, locked), key=lambda one: one.path)))

        owner[0].change([owner[1].name], with_packages)

    def _own_lock(self, declared: DeclaredPackages) -> LockedPackages | None:
        try:
            table = json.loads(read_regular(self._lock_file(declared)))
            return parse_packages({declared.path: table})[0]
        except (OSError, ValueError):
            # Missing, or damaged: it is made again.
            return None

    def _lock_file(self, declared: DeclaredPackages) -> str:
        return os.path.join(self.locks, f"{declared.digest.removeprefix('sha256:')[:40]}.json")


def package_changes(old: LockedPackages | None, new: LockedPackages) -> tuple[str, ...]:
    """Returns the packages that were added, removed or changed: `+ rich 14.0`, `polars 1.0 -> 1.1`."""
    before = {one.name: one.version for one in old.packages} if old else {}
    after = {one.name: one.version for one in new.packages}
    names = sorted(before.keys() | after.keys(), key=str.lower)
    found = ((name, before.get(name), after.get(name)) for name in names)
    return tuple(
        f"+ {name} {is_} ".rstrip() if was is None else f"- {name} {was}" if is_ is None else f"{name} {was} -> {is_}"
        for name, was, is_ in found
        if was != is_
    )
