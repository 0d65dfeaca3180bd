"""Finds and clears what a killed installer left behind.

A journal is a committed installation and is finished. Every other path that begins with `.metier-` is garbage once its
process is gone.
"""

from __future__ import annotations

import os
import shutil
import time

from metier.errors import RefusedError
from metier.install.targets.scope import InstallScope
from metier.values import dataclass

from .apply import hold_scope
from .journal import leftovers, read_journal

__all__ = ["Leftover", "find_leftovers", "repair"]

_OTHERS = (".metier-new-", ".metier-deleted-")
_OLD_SECONDS = 600
"""Folders of these names exist for a moment only."""


@dataclass(frozen=True, slots=True)
class Leftover:
    path: str
    what: str


def find_leftovers(scope: InstallScope) -> tuple[Leftover, ...]:
    found = [Leftover(scope.journal, "an unfinished installation")] if os.path.lexists(scope.journal) else []
    places = _places(scope)
    found += [Leftover(stage, "the staging folder of an installer that no longer runs") for stage in leftovers(scope)]
    found += [Leftover(path, "left by a command that was killed") for path in _old(places)]
    return tuple(found)


def repair(scope: InstallScope) -> tuple[Leftover, ...]:
    """Finishes a committed installation and deletes the rest. Returns what was found."""
    if not os.path.isdir(scope.root):
        return ()
    found = find_leftovers(scope)
    try:
        read_journal(scope)
    except RefusedError:
        # It names paths that no installation writes, so it is deleted and not followed.
        os.unlink(scope.journal)
    with hold_scope(scope):
        for path in (*leftovers(scope), *_old(_places(scope))):
            shutil.rmtree(path, ignore_errors=True)
    return found


def _places(scope: InstallScope) -> list[str]:
    return [*scope.parents, scope.root]


def _old(places: list[str]) -> list[str]:
    found: list[str] = []
    for place in places:
        try:
            with os.scandir(place) as children:
                found += [
                    child.path for child in children
                    if child.name.startswith(_OTHERS) and child.is_dir(follow_symlinks=False)
                    and time.time() - child.stat(follow_symlinks=False).st_ctime > _OLD_SECONDS
                ]  # fmt: skip
        except OSError:
            continue
    return sorted(found)
