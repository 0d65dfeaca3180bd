"""Removes installed skills."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from metier.errors import ConflictError
from metier.spec import Version

from .lock.lock_file import Lock
from .options import InstallResult
from .store import SkillStore

__all__ = ["dependents", "remove"]


def remove(store: SkillStore, names: Sequence[str], *, force: bool = False, dry_run: bool = False) -> InstallResult:
    """Removes skills from the lock, their folders and every agent's folder.

    A name stands for all installed versions, `NAME@VERSION` for one. If that is the one that agents see, the highest of the
    others takes its place. Raises ConflictError if another installed skill depends on one of them, unless `force`.
    """
    lock = store.lock()
    gone, promote = _chosen(lock, names)
    needs = {entry.name: entry.dependencies for entry in lock if entry.name not in gone}
    for name in (name for name in gone if name not in promote):
        needed_by = dependents(name, needs)
        if needed_by and not force:
            raise ConflictError(f"{', '.join(needed_by)} depends on {name}", hint="remove that first, or use --force")
    return store.remove(gone, promote=promote, dry_run=dry_run)


def _chosen(lock: Lock, names: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Returns the entries to remove, and for each that an extra version replaces, the name of that."""
    gone = {lock[name].name: None for name in names}
    for name in names:
        if "@" not in name:
            gone.update(dict.fromkeys(entry.name for entry in lock.versions(name)))
    promote: dict[str, str] = {}
    for name in gone:
        others = [entry for entry in lock.versions(name) if entry.is_extra and entry.name not in gone]
        if others:
            promote[name] = max(others, key=lambda entry: Version.parse(entry.version)).name
    return tuple(gone), promote


def dependents(name: str, needs: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Returns the names of the skills that depend on this one."""
    return tuple(sorted(other for other, needed in needs.items() if other != name and name in tuple(needed)))
