"""What a killed installer left behind, and clearing it away.

Nothing here decides anything: a journal is finished because it was decided, and everything else that begins with `.metier-` is
rubbish as soon as its maker is gone.
"""

from __future__ import annotations

import os
import shutil
import time

from metier.errors import RefusedError
from metier.install.targets.scope import InstallScope
from metier.values import dataclass

from .apply import held
from .journal import leftovers, read_journal

__all__ = ["Leftover", "find_leftovers", "repair"]

_OTHERS = (".metier-new-", ".metier-deleted-")
_OLD_SECONDS = 600
"""Whoever makes a folder of these names has long finished with it."""


@dataclass(frozen=True, slots=True)
class Leftover:
    path: str
    what: str


def find_leftovers(scope: InstallScope) -> tuple[Leftover, ...]:
    found = [Leftover(scope.journal, "an installation that was not finished")] if os.path.lexists(scope.journal) else []
    places = _places(scope)
    found += [Leftover(stage, "staged by an installer that is gone") for stage in leftovers(scope)]
    found += [Leftover(path, "left by a command that was killed") for path in _old(places)]
    return tuple(found)


def repair(scope: InstallScope) -> tuple[Leftover, ...]:
    """Finish what was decided, clear the rest; what that was."""
    if not os.path.isdir(scope.root):
        return ()
    found = find_leftovers(scope)
    try:
        read_journal(scope)
    except RefusedError:
        # It names what no installation could have named: not ours, and never to be followed.
        os.unlink(scope.journal)
    with held(scope):
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
