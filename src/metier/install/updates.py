"""Looks for newer versions of installed skills (`outdated`), and installs them (`update`)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from metier.errors import MetierError, NotFoundError, RefusedError
from metier.sources import DiskFiles
from metier.spec import Capabilities, Files, OwnFiles
from metier.values import dataclass, field, replace

from .diff import changed_files, diff_text, new_permissions
from .edits import find_edits, locked_files, merge_edits, resolve_merge, unresolved
from .lock.lock_file import LockEntry
from .merge import MergeConflict, MergeSide
from .merge_record import MergeRecord
from .options import InstallOptions, InstallResult
from .prepare import PreparedSkill, prepare
from .protocols import FetchedSkill, Fetcher, FetchResult, NewestVersion, Scan
from .store import SkillStore, group_by_store
from .transaction.steps import Edits, Verb
from .version_facts import VersionFacts, describe_change

__all__ = ["SkillUpdate", "UpdateState", "UpdateStatus", "abort_updates", "outdated", "update"]


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
    versions: str = ""
    """The installed and the newest version, such as `1.0.0 -> 1.1.0`; empty if they have no names."""
    exact: str = ""
    """The exact version that the user asked for, and which an update keeps."""
    problem: str = ""
    held: str = ""
    """The newer version that the cool-down holds back, and until when."""


def outdated(store: SkillStore, fetcher: Fetcher, names: Sequence[str] = ()) -> tuple[UpdateStatus, ...]:
    """Compares the lock with its sources; without names, all skills. Nothing is changed."""
    lock = store.lock()
    entries = [lock[name] for name in names] if names else [entry for entry in lock if not entry.is_extra]
    return tuple(_status(entry, newest) for entry, newest in zip(entries, fetcher.newest(entries), strict=True))


def _status(entry: LockEntry, newest: NewestVersion) -> UpdateStatus:
    if newest.problem:
        return UpdateStatus(entry=entry, state=UpdateState.UNKNOWN, problem=newest.problem)
    is_newer = newest.digest != entry.digest if newest.digest else newest.commit != entry.origin.commit
    is_pinned = entry.pinned or entry.is_extra or bool(newest.exact)
    state = UpdateState.CURRENT if not is_newer else UpdateState.PINNED if is_pinned else UpdateState.OUTDATED
    (old_tag, tag), (installed, published) = newest.tags, newest.published
    old = VersionFacts(version=entry.version, tag=old_tag, published=installed, commit=entry.origin.commit)
    new = VersionFacts(version=newest.version, tag=tag, published=published, commit=newest.commit)
    return UpdateStatus(
        entry=entry, state=state, commit=newest.commit, version=newest.version, exact=newest.exact, held=newest.held,
        versions=describe_change(old, new) if is_newer else "",
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillUpdate:
    """The changes of an update to one skill."""

    entry: LockEntry
    """The entry before the update."""
    skill: PreparedSkill | None = None
    problem: str = ""
    versions: str = ""
    """The old and the new version, such as `1.0.0 -> 1.1.0`; empty if they have no names."""
    changed: tuple[str, ...] = ()
    diff: str = ""
    permissions: tuple[str, ...] = ()
    """New tools and scripts of the new version."""
    wider: Capabilities = field(default_factory=Capabilities)
    """Capabilities of the new version beyond the list of the installed one."""
    edited: tuple[str, ...] = ()
    """Files that were edited after the installation."""
    merged: tuple[str, ...] = ()
    """Files that now have the changes of both sides."""
    conflicts: tuple[MergeConflict, ...] = ()
    """Files in which a merge left conflicts, now or in an earlier update."""
    resolved: bool = False
    """The conflicts of an earlier update are resolved now."""
    held: str = ""
    """The newer version that the cool-down holds back, and until when."""

    @property
    def is_newer(self) -> bool:
        return self.skill is not None and self.skill.entry.digest != self.entry.digest


def update(
    store: SkillStore,
    fetcher: Fetcher,
    names: Sequence[str] = (),
    options: InstallOptions = InstallOptions(edits=Edits.MERGE),  # noqa: B008 - frozen
    *,
    scan: Scan | None = None,
) -> tuple[tuple[SkillUpdate, ...], InstallResult]:
    """Installs the newest version of these skills; without names, of all that are not pinned.

    With `Edits.MERGE`, `YOURS` and `THEIRS` an edited skill is merged with its new version. A skill with any other conflict, or
    with unresolved ones of an earlier update, is left as it is, and the others are updated.
    """
    lock = store.lock()
    pinned = [name for name in names if lock[name].pinned]
    if pinned:
        raise RefusedError(f"{pinned[0]} is pinned", rule="pinned", hint=f"run `metier skill unpin {pinned[0]}` first")
    extra = [lock[name] for name in names if lock[name].is_extra]
    if extra:
        raise RefusedError(f"{extra[0].name} is installed beside another version, and keeps its own", rule="pinned",
                           hint=f"`metier skill update {extra[0].base_name}` updates the other")  # fmt: skip
    entries = [lock[name] for name in names] if names else [entry for entry in lock if not entry.pinned and not entry.is_extra]
    scan = None if options.unsafe else scan
    earlier = {
        entry.name: one
        for entry in entries
        if (record := store.unfinished_merge(entry)) and (one := _resolve(store, fetcher, entry, record, options))
    }
    entries = [entry for entry in entries if entry.name not in earlier]
    found = fetcher.latest(entries) if entries else ()
    updates = tuple(_update(store, fetcher, entry, each, options, scan) for entry, each in zip(entries, found, strict=True))
    updates = tuple(_agreed(one, options) for one in updates)
    skills = [one.skill for one in updates if one.skill is not None]
    updates = (*earlier.values(), *updates)
    planned = store.install(skills, replace(options, dry_run=True))
    conflicts = {step.name: step for step in planned.steps if step.verb is Verb.CONFLICT}
    free = [skill for skill in skills if skill.name not in conflicts]
    if options.dry_run or not free:
        return updates, planned if options.dry_run or earlier else store.install(skills, options)
    result = store.install(free, options)
    return updates, replace(result, steps=(*conflicts.values(), *result.steps))


def abort_updates(stores: Sequence[SkillStore], names: Sequence[str] = ()) -> tuple[tuple[SkillStore, LockEntry], ...]:
    """Restores these skills as they were before an update that left conflicts; without names, all of them.

    Returns their lock entries. Raises NotFoundError if there is no such update.
    """
    if names:
        return tuple((store, store.abort_merge(name)) for store, chosen in group_by_store(stores, names) for name in chosen)
    open_merges = [(store, entry.name) for store in stores for entry in store.lock() if store.unfinished_merge(entry)]
    if not open_merges:
        raise NotFoundError(
            "no update waits for conflicts to be resolved", hint="run `metier skill update` to update your skills"
        )
    return tuple((store, store.abort_merge(name)) for store, name in open_merges)


def _update(
    store: SkillStore, fetcher: Fetcher, entry: LockEntry, found: FetchResult, options: InstallOptions, scan: Scan | None
) -> SkillUpdate:
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
    edits = find_edits(store, entry)
    base = locked_files(fetcher, entry) if edits else None
    if edits and options.edits in _SIDES:
        try:
            skill = replace(skill, merge=merge_edits(store, edits, base, skill, _SIDES[options.edits]))
        except MetierError as error:
            return SkillUpdate(entry=entry, problem=f"your edits cannot be merged: {error}; --force overwrites them")
    before: Files = base or OwnFiles(DiskFiles(store.folder_of(entry)))
    return SkillUpdate(
        entry=entry,
        skill=skill,
        versions=_versions(entry, skill.entry, found),
        changed=changed_files(before, skill.files),
        diff=diff_text(before, skill.files, entry.name),
        permissions=new_permissions(before, skill.files),
        wider=skill.wider_than(_listed(entry, before, scan)),
        edited=edits.changes if edits else (),
        merged=skill.merge.merged if skill.merge else (),
        conflicts=skill.merge.conflicts if skill.merge else (),
        held=found.held,
    )


def _listed(entry: LockEntry, before: Files, scan: Scan | None) -> Capabilities | None:
    """Returns the list of the installed version. A lock of version 1 has none; then its files are read again."""
    if entry.capabilities is not None or scan is None:
        return entry.capabilities
    report = scan(before, folder=entry.base_name)
    return report.capabilities if report else None


def _agreed(update: SkillUpdate, options: InstallOptions) -> SkillUpdate:
    """Returns the update, or a problem instead of it if it wants more and the user has not accepted that."""
    if not update.wider or options.dry_run or (options.accept_wider and options.accept_wider(update.entry.name, update.wider)):
        return update
    new = ", ".join(update.wider.words())
    problem = f"the newer version wants more and was not installed; new: {new}; --yes accepts it"
    return SkillUpdate(entry=update.entry, problem=problem, wider=update.wider, held=update.held)


def _versions(old: LockEntry, new: LockEntry, found: FetchedSkill) -> str:
    old_tag, tag = found.tags
    return describe_change(
        VersionFacts(version=old.version, tag=old_tag, commit=old.origin.commit),
        VersionFacts(version=new.version, tag=tag, published=found.published, commit=new.origin.commit),
    )


def _resolve(
    store: SkillStore, fetcher: Fetcher, entry: LockEntry, record: MergeRecord, options: InstallOptions
) -> SkillUpdate | None:
    """Returns the state of an earlier update's conflicts; None if they are out of the way of this one."""
    if options.edits is Edits.OVERWRITE:
        return None
    side = _SIDES.get(options.edits)
    left = unresolved(store, entry, record)
    if left and (side is None or options.dry_run):
        return SkillUpdate(entry=entry, conflicts=left)
    if not options.dry_run:
        resolve_merge(store, fetcher, entry, record, side)
    return SkillUpdate(entry=entry, resolved=True) if left else None


_SIDES = {Edits.MERGE: None, Edits.YOURS: MergeSide.YOURS, Edits.THEIRS: MergeSide.THEIRS}
