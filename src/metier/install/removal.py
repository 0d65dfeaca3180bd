"""Removes installed skills."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from metier.errors import ConflictError

from .options import InstallResult
from .store import SkillStore

__all__ = ["dependents", "remove"]


def remove(store: SkillStore, names: Sequence[str], *, force: bool = False, dry_run: bool = False) -> InstallResult:
    """Removes skills from the lock, their folders and every agent's folder.

    Raises ConflictError if another installed skill depends on one of them, unless `force`.
    """
    lock = store.lock()
    needs = {entry.name: entry.dependencies for entry in lock if entry.name not in names}
    for name in names:
        needed_by = dependents(name, needs)
        if needed_by and not force:
            raise ConflictError(f"{', '.join(needed_by)} depends on {name}", hint="remove that first, or use --force")
    return store.remove(names, dry_run=dry_run)


def dependents(name: str, needs: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Returns the names of the skills that depend on this one."""
    return tuple(sorted(other for other, needed in needs.items() if other != name and name in tuple(needed)))
