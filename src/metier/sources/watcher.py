"""Hot reload: a stream of catalogs, each with what changed since the one before."""

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

__all__ = ["CatalogChange", "CatalogUpdate", "ChangeKind", "changes", "watch"]

_LOOK_AGAIN_MS = 1_000
"""A place that does not exist cannot be watched; this often we look whether it has appeared."""


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
    places: Sequence[SourceFolder], rebuild: Callable[[], Catalog], *, stop: threading.Event | None = None, files: bool = False
) -> Iterator[CatalogUpdate]:
    """First the catalog as it is, then one update for each burst of changes, until `stop` is set.

    A catalog holds what SKILL.md files say; with `files` a change of a skill's other files is an update too.
    """
    # Imported here: only watchers pay for the watcher.
    from watchfiles import watch as watch_files

    stop = stop or threading.Event()
    started = time.time()
    catalog = rebuild()
    yield CatalogUpdate(catalog, ())
    while not stop.is_set():
        roots = _existing(places)
        if not roots:
            stop.wait(_LOOK_AGAIN_MS / 1000)
            burst: Iterator[set[tuple[FileChange, str]]] = iter((set(),))
        else:
            burst = watch_files(
                *roots, stop_event=stop, rust_timeout=_LOOK_AGAIN_MS, yield_on_timeout=True, raise_interrupt=True,
                step=20, debounce=200, watch_filter=None, ignore_permission_denied=True,
            )  # fmt: skip
        # What changed before the watcher was up, it never tells: so look once when it first answers.
        missed = True
        for changed in burst:
            if missed or changed or roots != _existing(places):
                if missed and files:
                    changed = changed | _younger(catalog, started)
                missed = False
                before, catalog = catalog, rebuild()
                differences = changes(before, catalog)
                if files:
                    differences += _touched(changed, catalog, differences)
                if differences:
                    yield CatalogUpdate(catalog, differences)
            if stop.is_set() or roots != _existing(places) or _is_about(changed, roots):
                break


def changes(before: Catalog, after: Catalog) -> tuple[CatalogChange, ...]:
    """What happened between two catalogs, by folder."""
    old = {entry.folder: entry for entry in before.entries}
    new = {entry.folder: entry for entry in after.entries}
    return (
        *(CatalogChange(ChangeKind.REMOVED, entry) for folder, entry in old.items() if folder not in new),
        *(CatalogChange(ChangeKind.ADDED, entry) for folder, entry in new.items() if folder not in old),
        *(CatalogChange(ChangeKind.CHANGED, entry) for folder, entry in new.items() if folder in old and entry != old[folder]),
    )


def _touched(
    changed: Iterable[tuple[object, str]], catalog: Catalog, known: Sequence[CatalogChange]
) -> tuple[CatalogChange, ...]:
    """The skills in which another file than SKILL.md has changed."""
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


def _younger(catalog: Catalog, than: float) -> set[tuple[FileChange, str]]:
    """Files that may have changed before the watcher was up, as it would have told them."""
    from watchfiles import Change as FileChange

    # Clocks of file systems are coarse; a file too many costs a look at it.
    found = (os.path.join(here, name) for entry in catalog for here, _, names in os.walk(entry.folder) for name in names)
    return {(FileChange.modified, path) for path in found if _modified(path) > than - 1}


def _modified(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def _is_about(changed: Iterable[tuple[object, str]], roots: Sequence[str]) -> bool:
    """Did something happen to a place itself? One that was removed and made again is another folder to the watcher."""
    return any(path.rstrip("/") in roots for _, path in changed)


def _existing(places: Sequence[SourceFolder]) -> list[str]:
    return [place.root for place in places if os.path.isdir(place.root)]
