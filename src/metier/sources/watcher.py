"""Watches source folders: a stream of catalogs, each with its changes since the previous one."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from metier.catalog import Catalog, Entry
from metier.values import dataclass

from .source_folders import SourceFolder

if TYPE_CHECKING:
    from watchfiles import Change as FileChange

__all__ = ["CatalogChange", "CatalogUpdate", "ChangeKind", "diff_catalogs", "watch"]

_POLL_MS = 1_000
"""Interval at which a missing folder is looked for; it cannot be watched before it exists."""


class ChangeKind(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class CatalogChange:
    kind: ChangeKind
    entry: Entry


@dataclass(frozen=True, slots=True)
class CatalogUpdate:
    catalog: Catalog
    changes: tuple[CatalogChange, ...]


def watch(
    folders: Sequence[SourceFolder], rebuild: Callable[[], Catalog], *, stop: threading.Event | None = None, files: bool = False
) -> Iterator[CatalogUpdate]:
    """Yields the current catalog, then one update for each burst of changes, until `stop` is set.

    A catalog depends on the SKILL.md files only; with `files`, a change of another file of a skill is an update too.
    """
    # Imported here, because only watching needs it.
    from watchfiles import watch as watch_files

    stop = stop or threading.Event()
    started = time.time()
    catalog = rebuild()
    yield CatalogUpdate(catalog, ())
    while not stop.is_set():
        roots = _existing_roots(folders)
        if not roots:
            stop.wait(_POLL_MS / 1000)
            burst: Iterator[set[tuple[FileChange, str]]] = iter((set(),))
        else:
            burst = watch_files(
                *roots, stop_event=stop, rust_timeout=_POLL_MS, yield_on_timeout=True, raise_interrupt=True,
                step=20, debounce=200, watch_filter=None, ignore_permission_denied=True,
            )  # fmt: skip
        # The watcher does not report changes from before it started, so its first answer always rebuilds the catalog.
        is_first = True
        for changed in burst:
            if is_first or changed or roots != _existing_roots(folders):
                if is_first and files:
                    changed = changed | _modified_since(catalog, started)
                is_first = False
                before, catalog = catalog, rebuild()
                differences = diff_catalogs(before, catalog)
                if files:
                    differences += _changed_files(changed, catalog, differences)
                if differences:
                    yield CatalogUpdate(catalog, differences)
            if stop.is_set() or roots != _existing_roots(folders) or _has_root(changed, roots):
                break


def diff_catalogs(before: Catalog, after: Catalog) -> tuple[CatalogChange, ...]:
    """Returns the changes between two catalogs, by folder."""
    old = {entry.folder: entry for entry in before.entries}
    new = {entry.folder: entry for entry in after.entries}
    return (
        *(CatalogChange(ChangeKind.REMOVED, entry) for folder, entry in old.items() if folder not in new),
        *(CatalogChange(ChangeKind.ADDED, entry) for folder, entry in new.items() if folder not in old),
        *(CatalogChange(ChangeKind.CHANGED, entry) for folder, entry in new.items() if folder in old and entry != old[folder]),
    )


def _changed_files(
    changed: Iterable[tuple[object, str]], catalog: Catalog, known: Sequence[CatalogChange]
) -> tuple[CatalogChange, ...]:
    """Returns the skills in which a file other than SKILL.md has changed."""
    folders = {entry.folder: entry for entry in catalog.entries}
    for change in known:
        folders.pop(change.entry.folder, None)
    found: dict[str, Entry] = {}
    for _, path in changed:
        above = os.path.dirname(os.path.realpath(path))
        while above not in folders and len(above) > 1:
            above = os.path.dirname(above)
        if above in folders:
            found[above] = folders[above]
    return tuple(CatalogChange(ChangeKind.CHANGED, entry) for entry in found.values())


def _modified_since(catalog: Catalog, then: float) -> set[tuple[FileChange, str]]:
    """Returns the files that may have changed before the watcher started, in its own form."""
    from watchfiles import Change as FileChange

    # One second earlier, because the clocks of file systems are coarse.
    found = (os.path.join(here, name) for entry in catalog for here, _, names in os.walk(entry.folder) for name in names)
    return {(FileChange.modified, path) for path in found if _modification_time(path) > then - 1}


def _modification_time(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def _has_root(changed: Iterable[tuple[object, str]], roots: Sequence[str]) -> bool:
    """Returns True if a root itself changed: one that was removed and created again must be watched anew."""
    return any(path.rstrip("/") in roots for _, path in changed)


def _existing_roots(folders: Sequence[SourceFolder]) -> list[str]:
    return [folder.root for folder in folders if os.path.isdir(folder.root)]
