"""Finds and clears what a killed installer left behind.

A journal is a committed installation and is finished. Every other folder that begins with `.metier-` is garbage once its
process is gone.
"""

from __future__ import annotations

import contextlib
import os

from metier.errors import RefusedError
from metier.install.targets.scope import InstallScope
from metier.sources import inner_folder
from metier.values import dataclass

from .apply import hold_scope
from .stage_folder import leftovers, sweep_leftovers

__all__ = ["Leftover", "find_leftovers", "repair"]


@dataclass(frozen=True, slots=True)
class Leftover:
    path: str
    what: str


def find_leftovers(scope: InstallScope) -> tuple[Leftover, ...]:
    found = [Leftover(scope.journal, "an unfinished installation")] if os.path.lexists(scope.journal) else []
    if scope.old_journal and os.path.lexists(scope.old_journal):
        found.append(Leftover(scope.old_journal, "a journal inside the project, which metier does not follow"))
    return (*found, *(Leftover(path, "left by a command that was killed") for path in leftovers(scope)))


def repair(scope: InstallScope) -> tuple[Leftover, ...]:
    """Finishes a committed installation and deletes the rest. Returns what was found."""
    if not os.path.isdir(scope.root):
        return ()
    found = find_leftovers(scope)
    try:
        with hold_scope(scope):
            pass
    except RefusedError as error:
        if error.rule != "journal":
            raise
        # It cannot be read, so it is deleted and not followed.
        os.unlink(scope.journal)
    with hold_scope(scope):
        if scope.old_journal:
            with inner_folder(scope.root) as root, contextlib.suppress(OSError):
                os.unlink(os.path.basename(scope.old_journal), dir_fd=root)
        sweep_leftovers(scope)
    return found
