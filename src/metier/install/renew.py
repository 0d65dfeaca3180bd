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
from .lock import Locked
from .plan import edited_files
from .ports import Brought, Fetcher, Scan
from .prepare import Prepared, prepare
from .state import Kind
from .steps import Verb
from .store import How, Outcome, Store

__all__ = ["Age", "Freshness", "Renewal", "outdated", "update"]


class Age(StrEnum):
    CURRENT = "current"
    OUTDATED = "outdated"
    PINNED = "pinned"
    UNKNOWN = "unknown"
    """The source could not be asked, or no longer has the skill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    entry: Locked
    age: Age
    commit: str = ""
    version: str = ""
    note: str = ""


def outdated(store: Store, fetcher: Fetcher, names: Sequence[str] = ()) -> tuple[Freshness, ...]:
    """Compare the lock with its sources. Nothing is changed, neither here nor in the cache of anything but answers."""
    lock = store.lock()
    entries = [lock[name] for name in names] if names else list(lock)
    return tuple(
        _judged(entry, newest.commit, newest.digest, newest.version, newest.problem)
        for entry, newest in zip(entries, fetcher.newest(entries), strict=True)
    )


def _judged(entry: Locked, commit: str, digest: str, version: str, problem: str) -> Freshness:
    if problem:
        return Freshness(entry=entry, age=Age.UNKNOWN, note=problem)
    newer = digest != entry.digest if digest else commit != entry.origin.commit
    age = Age.CURRENT if not newer else Age.PINNED if entry.pinned else Age.OUTDATED
    return Freshness(entry=entry, age=age, commit=commit, version=version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """What an update did or would do to one skill."""

    entry: Locked
    """As it was."""
    skill: Prepared | None = None
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
    store: Store, fetcher: Fetcher, names: Sequence[str], how: How, *, scan: Scan | None = None
) -> tuple[tuple[Renewal, ...], Outcome]:
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


def _renewal(store: Store, fetcher: Fetcher, entry: Locked, found: Brought, scan: Scan | None) -> Renewal:
    if isinstance(found, MetierError):
        return Renewal(entry=entry, problem=f"{found}")
    skill = prepare(found, name=entry.name if entry.called or found.name != entry.name else None, asked=entry.asked, scan=scan)
    skill = replace(skill, entry=replace(skill.entry, origin=replace(found.origin, ref=entry.origin.ref)))
    if found.digest == entry.digest:
        return Renewal(entry=entry, skill=skill)
    if skill.is_blocked:
        return Renewal(entry=entry, problem=f"the newer version is blocked: {skill.worst}; --unsafe takes it all the same")
    placed = store.placed(entry)
    seen = store.on_disk(placed)[placed.folder]
    edited = edited_files(entry.files, seen.files) if seen.kind is Kind.FOLDER else ()
    before: Files = DiskFiles(placed.folder) if not edited else _base(fetcher, entry) or DiskFiles(placed.folder)
    return Renewal(
        entry=entry, skill=skill, changed=changed_files(before, skill.files), diff=diff(before, skill.files, entry.name),
        powers=grown_powers(before, skill.files), edited=edited,
    )  # fmt: skip


def _base(fetcher: Fetcher, entry: Locked) -> Files | None:
    """The version that was installed, before somebody edited it: what changed upstream is told against that."""
    found = fetcher.exact([entry])[0]
    return found.files if not isinstance(found, MetierError) and isinstance(found.files, Contents) else None
