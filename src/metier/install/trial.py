"""A skill that is fetched to be looked at: it is installed into a temporary folder, which is deleted afterwards.

    with try_skill("owner/repo", Access(), skill="pdf") as trial:
        print(trial.name, scan_folder(trial.folder).report.verdict)

The user's own folders, lock and agents do not change; only the cache is written.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from metier.errors import AmbiguousError
from metier.values import dataclass

from .fetch.job import Access, Choose, Progress, ignore_progress
from .installation import install
from .lock.lock_file import LockEntry
from .options import InstallOptions
from .store import SkillStore
from .targets.scope import InstallScope, ScopeLevel

__all__ = ["TrialSkill", "try_skill"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSkill:
    entry: LockEntry
    """The origin as the lock would have it: the source, its commit or version, and the digest."""
    folder: str
    """Exists only inside the `with` block."""

    @property
    def name(self) -> str:
        return self.entry.name


@contextmanager
def try_skill(
    ref: str, access: Access, *, skill: str = "", choose: Choose | None = None, progress: Progress = ignore_progress
) -> Iterator[TrialSkill]:
    """Fetches one skill of a ref. `skill` names it, or `choose` picks it, if there are several. Its scan is the caller's."""
    with tempfile.TemporaryDirectory(prefix="metier-try-") as temporary:
        home = os.path.realpath(temporary)
        scope = InstallScope(
            level=ScopeLevel.USER, root=home, home=home, plugins=os.path.join(home, "plugins"), environment={}, metier_home=home
        )
        store = SkillStore(scope)
        options = InstallOptions(skills=(skill,) if skill else (), choose=choose, unsafe=True, dependencies=False)
        try:
            result = install([ref], store=store, access=access, options=options, progress=progress)
        except AmbiguousError as error:
            raise AmbiguousError(str(error), hint="choose one with --skill NAME") from error
        if len(result.names) != 1:
            raise AmbiguousError(f"{len(result.names)} skills were chosen", hint="choose one with --skill NAME")
        entry = result.lock[result.names[0]]
        yield TrialSkill(entry=entry, folder=store.folder_of(entry))
