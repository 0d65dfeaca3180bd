"""Looks for newer versions of installed skills (`outdated`), and installs them (`update`)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from metier.archive import Contents
from metier.errors import MetierError, RefusedError
from metier.sources import DiskFiles
from metier.spec import Files, OwnFiles
from metier.values import dataclass, replace

from .diff import changed_files, diff, new_permissions
from .lock.lock_file import LockEntry
from .options import InstallOptions, InstallResult
from .prepare import PreparedSkill, prepare
from .protocols import Fetcher, FetchResult, NewestVersion, Scan
from .store import SkillStore
from .transaction.plan import edited_files
from .transaction.state import PathKind
from .transaction.steps import Verb

__all__ = ["SkillUpdate", "UpdateState", "UpdateStatus", "outdated", "update"]


class UpdateState(StrEnum):
    CURRENT = "current"
    OUTDATED = "outdated"
    PINNED = "pinned"
    """A newer version exists, and the skill is pinned."""
    UNKNOWN = "unknown"
    """The source could not be asked, or no longer has the skill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateStatus:
    entry: LockEntry
    state: UpdateState
    commit: str = ""
    version: str = ""
    problem: str = ""
    held: str = ""
    """The newer version that the cool-down holds back, and until when."""


def outdated(store: SkillStore, fetcher: Fetcher, names: Sequence[str] = ()) -> tuple[UpdateStatus, ...]:
    """Compares the lock with its sources; without names, all skills. Nothing is changed."""
    lock = store.lock()
    entries = [lock[name] for name in names] if names else list(lock)
    return tuple(_status(entry, newest) for entry, newest in zip(entries, fetcher.newest(entries), strict=True))


def _status(entry: LockEntry, newest: NewestVersion) -> UpdateStatus:
    if newest.problem:
        return UpdateStatus(entry=entry, state=UpdateState.UNKNOWN, problem=newest.problem)
    is_newer = newest.digest != entry.digest if newest.digest else newest.commit != entry.origin.commit
    state = UpdateState.CURRENT if not is_newer else UpdateState.PINNED if entry.pinned else UpdateState.OUTDATED
    return UpdateStatus(entry=entry, state=state, commit=newest.commit, version=newest.version, held=newest.held)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillUpdate:
    """The changes of an update to one skill."""

    entry: LockEntry
    """The entry before the update."""
    skill: PreparedSkill | None = None
    problem: str = ""
    changed: tuple[str, ...] = ()
    diff: str = ""
    permissions: tuple[str, ...] = ()
    """New tools and scripts of the new version."""
    edited: tuple[str, ...] = ()
    """Files that were edited after the installation."""
    held: str = ""
    """The newer version that the cool-down holds back, and until when."""

    @property
    def is_newer(self) -> bool:
        return self.skill is not None and self.skill.entry.digest != self.entry.digest


def update(
    store: SkillStore,
    fetcher: Fetcher,
    names: Sequence[str] = (),
    options: InstallOptions = InstallOptions(),  # noqa: B008 - frozen
    *,
    scan: Scan | None = None,
) -> tuple[tuple[SkillUpdate, ...], InstallResult]:
    """Installs the newest version of these skills; without names, of all that are not pinned.

    A skill with a conflict, such as an edited one, is left as it is, and the others are updated.
    """
    lock = store.lock()
    pinned = [name for name in names if lock[name].pinned]
    if pinned:
        raise RefusedError(f"{pinned[0]} is pinned", rule="pinned", hint=f"run `metier skill unpin {pinned[0]}` first")
    entries = [lock[name] for name in names] if names else [entry for entry in lock if not entry.pinned]
    scan = None if options.unsafe else scan
    found = fetcher.latest(entries)
    updates = tuple(_update(store, fetcher, entry, each, scan) for entry, each in zip(entries, found, strict=True))
    skills = [one.skill for one in updates if one.skill is not None]
    planned = store.install(skills, replace(options, dry_run=True))
    conflicts = {step.name: step for step in planned.steps if step.verb is Verb.CONFLICT}
    free = [skill for skill in skills if skill.name not in conflicts]
    if options.dry_run or not free:
        return updates, planned if options.dry_run else store.install(skills, options)
    result = store.install(free, options)
    return updates, replace(result, steps=(*conflicts.values(), *result.steps))


def _update(store: SkillStore, fetcher: Fetcher, entry: LockEntry, found: FetchResult, scan: Scan | None) -> SkillUpdate:
    if isinstance(found, MetierError):
        return SkillUpdate(entry=entry, problem=f"{found}")
    if found.too_new and found.digest != entry.digest:
        return SkillUpdate(entry=entry, held=str(found.too_new))
    skill = prepare(found, name=entry.name if entry.called or found.name != entry.name else None, asked=entry.asked, scan=scan)
    skill = replace(skill, entry=replace(skill.entry, origin=replace(found.origin, ref=entry.origin.ref)))
    if found.digest == entry.digest:
        return SkillUpdate(entry=entry, skill=skill, held=found.held)
    if skill.is_blocked:
        return SkillUpdate(entry=entry, problem=f"the newer version is blocked: {skill.worst}; --unsafe installs it anyway")
    placed = store.place(entry)
    state = store.on_disk(placed)[placed.folder]
    edited = edited_files(entry.files, state.files) if state.kind is PathKind.FOLDER else ()
    disk = OwnFiles(DiskFiles(placed.folder))
    before: Files = disk if not edited else _locked_files(fetcher, entry) or disk
    return SkillUpdate(
        entry=entry,
        skill=skill,
        changed=changed_files(before, skill.files),
        diff=diff(before, skill.files, entry.name),
        permissions=new_permissions(before, skill.files),
        edited=edited,
        held=found.held,
    )


def _locked_files(fetcher: Fetcher, entry: LockEntry) -> Files | None:
    """Returns the unedited version, so that a diff shows only the changes of the source."""
    found = fetcher.exact([entry])[0]
    return found.files if not isinstance(found, MetierError) and isinstance(found.files, Contents) else None
