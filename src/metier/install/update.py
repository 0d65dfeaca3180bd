"""What is newer than the lock, and taking it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from metier.archive import Contents
from metier.errors import MetierError, RefusedError
from metier.sources import DiskFiles
from metier.spec import Files
from metier.values import dataclass, replace

from .diff import changed_files, diff, grown_powers
from .lock.lock_file import LockEntry
from .prepare import PreparedSkill, prepare
from .protocols import Fetcher, FetchResult, Scan
from .store import InstallOptions, InstallResult, SkillStore
from .transaction.plan import edited_files
from .transaction.state import PathKind
from .transaction.steps import Verb

__all__ = ["SkillUpdate", "UpdateState", "UpdateStatus", "outdated", "update"]


class UpdateState(StrEnum):
    CURRENT = "current"
    OUTDATED = "outdated"
    PINNED = "pinned"
    UNKNOWN = "unknown"
    """The source could not be asked, or no longer has the skill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateStatus:
    entry: LockEntry
    age: UpdateState
    commit: str = ""
    version: str = ""
    note: str = ""


def outdated(store: SkillStore, fetcher: Fetcher, names: Sequence[str] = ()) -> tuple[UpdateStatus, ...]:
    """Compare the lock with its sources. Nothing is changed, neither here nor in the cache of anything but answers."""
    lock = store.lock()
    entries = [lock[name] for name in names] if names else list(lock)
    return tuple(
        _judged(entry, newest.commit, newest.digest, newest.version, newest.problem)
        for entry, newest in zip(entries, fetcher.newest(entries), strict=True)
    )


def _judged(entry: LockEntry, commit: str, digest: str, version: str, problem: str) -> UpdateStatus:
    if problem:
        return UpdateStatus(entry=entry, age=UpdateState.UNKNOWN, note=problem)
    newer = digest != entry.digest if digest else commit != entry.origin.commit
    age = UpdateState.CURRENT if not newer else UpdateState.PINNED if entry.pinned else UpdateState.OUTDATED
    return UpdateStatus(entry=entry, age=age, commit=commit, version=version)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillUpdate:
    """What an update did or would do to one skill."""

    entry: LockEntry
    """As it was."""
    skill: PreparedSkill | None = None
    problem: str = ""
    changed: tuple[str, ...] = ()
    diff: str = ""
    powers: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    """What somebody changed here."""

    @property
    def is_newer(self) -> bool:
        return self.skill is not None and self.skill.entry.digest != self.entry.digest


def update(
    store: SkillStore, fetcher: Fetcher, names: Sequence[str], how: InstallOptions, *, scan: Scan | None = None
) -> tuple[tuple[SkillUpdate, ...], InstallResult]:
    """Take the newest version of these skills; without names, of all that are not pinned.

    One that was edited here is left alone and does not hold up the others; its conflict is among the steps.
    """
    lock = store.lock()
    pinned = [name for name in names if lock[name].pinned]
    if pinned:
        raise RefusedError(f"{pinned[0]} is pinned", rule="pinned", hint=f"`metier skill unpin {pinned[0]}` first")
    entries = [lock[name] for name in names] if names else [entry for entry in lock if not entry.pinned]
    found = fetcher.latest(entries)
    renewals = tuple(_renewal(store, fetcher, entry, each, scan) for entry, each in zip(entries, found, strict=True))
    skills = [renewal.skill for renewal in renewals if renewal.skill is not None]
    planned = store.install(skills, replace(how, dry_run=True))
    stuck = {step.name: step for step in planned.steps if step.verb is Verb.CONFLICT}
    free = [skill for skill in skills if skill.name not in stuck]
    if how.dry_run or not free:
        return renewals, planned if how.dry_run else store.install(skills, how)
    outcome = store.install(free, how)
    return renewals, replace(outcome, steps=(*stuck.values(), *outcome.steps))


def _renewal(store: SkillStore, fetcher: Fetcher, entry: LockEntry, found: FetchResult, scan: Scan | None) -> SkillUpdate:
    if isinstance(found, MetierError):
        return SkillUpdate(entry=entry, problem=f"{found}")
    skill = prepare(found, name=entry.name if entry.called or found.name != entry.name else None, asked=entry.asked, scan=scan)
    skill = replace(skill, entry=replace(skill.entry, origin=replace(found.origin, ref=entry.origin.ref)))
    if found.digest == entry.digest:
        return SkillUpdate(entry=entry, skill=skill)
    if skill.is_blocked:
        return SkillUpdate(entry=entry, problem=f"the newer version is blocked: {skill.worst}; --unsafe takes it all the same")
    placed = store.placed(entry)
    seen = store.on_disk(placed)[placed.folder]
    edited = edited_files(entry.files, seen.files) if seen.kind is PathKind.FOLDER else ()
    before: Files = DiskFiles(placed.folder) if not edited else _base(fetcher, entry) or DiskFiles(placed.folder)
    return SkillUpdate(
        entry=entry, skill=skill, changed=changed_files(before, skill.files), diff=diff(before, skill.files, entry.name),
        powers=grown_powers(before, skill.files), edited=edited,
    )  # fmt: skip


def _base(fetcher: Fetcher, entry: LockEntry) -> Files | None:
    """The version that was installed, before somebody edited it: what changed upstream is told against that."""
    found = fetcher.exact([entry])[0]
    return found.files if not isinstance(found, MetierError) and isinstance(found.files, Contents) else None
