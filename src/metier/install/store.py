"""The installed skills of one scope: its lock, its folders on disk, and every change to them.

Each change plans first, under a lock on the scope, and is then applied whole or not at all (`install.transaction`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache

from metier.archive import Contents
from metier.errors import ConfigError, ConflictError, NotFoundError, RefusedError, SkillNotFoundError, UsageError
from metier.sources import inner_file, inner_folder, open_regular
from metier.spec import Files
from metier.values import replace

from .lock.lock_file import Hashes, Lock, LockEntry, Origin, parse_lock
from .merge_record import MergeRecord, backup_steps, read_record, record_path, removal_steps, restore_steps
from .options import InstallOptions, InstallResult
from .prepare import PreparedSkill
from .protocols import FetchedSkill
from .targets.scope import InstallMode, InstallScope
from .transaction.apply import apply, hold_scope
from .transaction.journal import Checkpoint, ignore_checkpoint
from .transaction.plan import plan
from .transaction.state import PathKind, PathState, read_states
from .transaction.steps import Edits, InstallStep, PlacedSkill, Verb, WantedSkill, changes, refuse_conflicts

__all__ = ["SkillStore", "group_by_store", "store_of"]

_WRITES = (Verb.INSTALL, Verb.UPDATE, Verb.COPY)


def utc_now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class SkillStore:
    def __init__(
        self, scope: InstallScope, *, now: Callable[[], str] = utc_now, checkpoint: Checkpoint = ignore_checkpoint
    ) -> None:
        self.scope = scope
        self._now, self._checkpoint = now, checkpoint
        self._cached: tuple[tuple[int, int, int], Lock] | None = None

    @property
    def exists(self) -> bool:
        return os.path.lexists(self.scope.lock_file)

    @property
    def is_interrupted(self) -> bool:
        """Returns True if an installation was decided and not finished. The next change finishes it."""
        return os.path.lexists(self.scope.journal)

    def lock(self) -> Lock:
        try:
            with inner_file(self.scope.lock_file, inside=self.scope.inside) as (folder, name):
                stream = os.fdopen(open_regular(name, dir_fd=folder), encoding="utf-8")
            with stream:
                # Every change writes a new file, so the same inode, time and size mean the same content.
                status = os.fstat(stream.fileno())
                key = (status.st_ino, status.st_mtime_ns, status.st_size)
                if self._cached is None or self._cached[0] != key:
                    self._cached = (key, self._parse(stream.read()))
                return self._cached[1]
        except (FileNotFoundError, NotADirectoryError):
            return Lock()
        except UnicodeDecodeError as error:
            raise ConfigError(
                "not UTF-8 text", file=self.scope.lock_file, hint="restore the file from version control"
            ) from error

    def folder_of(self, entry: LockEntry) -> str:
        """Returns the folder of the canonical copy."""
        folder = self.scope.extra_versions if entry.is_extra else self.scope.copy_folder(entry.targets)
        return os.path.join(folder, entry.name)

    def place(self, entry: LockEntry) -> PlacedSkill:
        """Returns the paths that a skill with these targets has."""
        return self.place_all([entry])[entry.name]

    def place_all(self, entries: Iterable[LockEntry]) -> dict[str, PlacedSkill]:
        """Returns the paths of many skills, by name. Folders of equal targets are looked up once."""
        folders = cache(self._target_folders)
        return {entry.name: self._place(entry, folders(entry.targets)) for entry in entries}

    def on_disk(self, *placed: PlacedSkill) -> dict[str, PathState]:
        """Returns the state of every path. Raises RefusedError if a folder of the project is a link out of it."""
        paths = sorted({path for each in placed for path in each.paths})
        if self.scope.inside:
            for folder in {os.path.dirname(path) for path in paths}:
                with suppress(FileNotFoundError, NotADirectoryError), inner_folder(folder, inside=self.scope.inside):
                    pass
        return read_states(paths)

    def read_installed(self, entry: LockEntry) -> FetchedSkill:
        """Reads an installed skill from disk as if it had been fetched. Raises ConflictError if it was edited."""
        # Imported here: a removal reads no skill.
        from .fetch.tree import read_folder

        folder = self.folder_of(entry)
        if read_states([folder])[folder].files != entry.files:
            raise ConflictError(f"{entry.name} was edited or its folder is missing", hint="see `metier skill verify`")
        return FetchedSkill(
            name=entry.called or entry.base_name, files=read_folder(folder), digest=entry.digest, origin=entry.origin
        )

    def install(self, skills: Sequence[PreparedSkill], options: InstallOptions) -> InstallResult:
        """Installs these skills. A skill that is installed already keeps its targets and gains the new ones."""
        if options.dry_run:
            steps, lock = self._plan_install(skills, options)
            return InstallResult(steps=steps, lock=lock, scope=self.scope, done=False, planned=tuple(skills))
        with self._hold():
            steps, lock = self._plan_install(skills, options)
            refuse_conflicts(steps)
            if options.frozen and (changes(steps) or lock != self.lock()) and not self._only_restores(skills):
                raise RefusedError("--frozen, but this changes the lock", rule="frozen", hint="run it without --frozen")
            files = {skill.name: skill.files_to_write for skill in skills}
            backups, records = self._plan_backups(skills, steps)
            saved = self._apply((*backups, *steps), files, lock, records)
        return InstallResult(steps=steps, lock=lock, scope=self.scope, saved=saved)

    def plan_restore(self, options: InstallOptions) -> tuple[tuple[InstallStep, ...], tuple[str, ...]]:
        """Returns the steps that restore the lock, and the names of the skills whose files they need."""
        steps, _ = self._plan_restore(options)
        return steps, tuple(dict.fromkeys(step.name for step in steps if step.verb in _WRITES))

    def restore(self, skills: Mapping[str, PreparedSkill], options: InstallOptions) -> InstallResult:
        """Makes the folders agree with the lock, which does not change."""
        with self._hold():
            steps, lock = self._plan_restore(options)
            refuse_conflicts(steps)
            missing = {step.name for step in steps if step.verb in _WRITES} - skills.keys()
            if missing:
                raise ConflictError(f"{', '.join(sorted(missing))}: changed during the restore", hint="try again")
            self._apply(steps, {name: skill.files for name, skill in skills.items()}, lock)
        return InstallResult(steps=steps, lock=lock, scope=self.scope, names=tuple(lock.skills))

    def remove(
        self, names: Collection[str], *, promote: Mapping[str, str] | None = None, dry_run: bool = False
    ) -> InstallResult:
        """Removes these skills from the lock, their folders and every agent's folder.

        `promote` names the extra versions that take the places of removed skills.
        """
        promote = promote or {}
        if dry_run:
            steps, lock = self._plan_removal(names, promote)
            return InstallResult(steps=steps, lock=lock, scope=self.scope, names=tuple(names), done=False)
        with self._hold():
            before = self.place_all(self.lock())
            steps, lock = self._plan_removal(names, promote)
            self._apply(steps, _read_files(steps, {name: before[extra] for name, extra in promote.items()}), lock)
        return InstallResult(steps=steps, lock=lock, scope=self.scope, names=tuple(names))

    def remove_targets(self, name: str, targets: Collection[str]) -> InstallResult:
        """Removes a skill from the folders of these agents only."""
        with self._hold():
            lock = self.lock()
            entry = lock[name]
            name = entry.name
            if unknown := sorted(set(targets) - set(entry.targets)):
                has = ", ".join(entry.targets) or "metier only"
                raise UsageError(f"{name} is not installed for {', '.join(unknown)}", hint=f"it is installed for {has}")
            rest = tuple(target for target in entry.targets if target not in targets)
            old, new = self.place(entry), self.place(replace(entry, targets=rest))
            disk = self.on_disk(old, new)
            steps = plan([WantedSkill(placed=new)], {name: old}, disk)
            refuse_conflicts(steps)
            after = lock.with_([new.entry])
            self._apply(steps, _read_files(steps, {name: old}), after)
        return InstallResult(steps=steps, lock=after, scope=self.scope, names=(name,))

    def unfinished_merge(self, entry: LockEntry) -> MergeRecord | None:
        """Returns the record of an update of this skill that left conflicts."""
        record = read_record(self.scope, entry.name)
        return record if record and record.digest == entry.digest else None

    def finish_merge(self, entry: LockEntry, files: Contents | None = None, *, seen: Hashes) -> None:
        """Deletes the record and the backup of a merge, and writes the resolved files if there are any.

        Raises ConflictError if the files on disk are no longer `seen`.
        """
        with self._hold():
            record, placed = read_record(self.scope, entry.name), self.place(entry)
            disk = self.on_disk(placed)
            if disk[placed.folder].files != seen:
                raise ConflictError(f"{entry.name} has just been changed", hint="run the command again")
            paths = [path for path in placed.paths if disk[path].kind is PathKind.FOLDER] if files else []
            steps = [InstallStep(verb=Verb.UPDATE, name=entry.name, path=path) for path in paths]
            if not steps and record:
                steps = [*removal_steps(self.scope, record)]
            self._apply(steps, {entry.name: files} if files else {}, self.lock())

    def abort_merge(self, name: str) -> LockEntry:
        """Restores a skill and its lock entry as they were before an update that left conflicts. Returns that entry."""
        with self._hold():
            entry = self.lock()[name]
            name = entry.name
            record = self.unfinished_merge(entry)
            if record is None:
                raise NotFoundError(
                    f"no update of {name} waits for conflicts to be resolved",
                    hint=f"run `metier skill update {name}` to update it",
                )
            old = replace(record.old, targets=entry.targets, mode=entry.mode, pinned=entry.pinned)
            steps = restore_steps(self.scope, record, self.place(old).paths)
            if missing := [step.target for step in steps if not os.path.isdir(step.target)]:
                raise NotFoundError(
                    f"the backup {missing[0]} is gone", hint=f"`metier skill update {name} --theirs` resolves the conflicts"
                )
            self._apply(steps, {}, self.lock().with_([old]))
        return old

    def change(self, names: Collection[str], change: Callable[[LockEntry], LockEntry]) -> Lock:
        """Changes the lock entries of these skills, and nothing else on disk."""
        with self._hold():
            before = self.lock()
            after = before.with_(change(before[name]) for name in names)
            if after != before:
                self._apply((), {}, after)
        return after

    def sync(self, *, dry_run: bool = False) -> InstallResult:
        """Recreates links and copies that are missing or wrong. Missing canonical copies are restored by `install`."""
        if dry_run:
            steps, _, lock = self._plan_sync()
            return InstallResult(steps=steps, lock=lock, scope=self.scope, done=False)
        with self._hold():
            steps, files, lock = self._plan_sync()
            refuse_conflicts(steps)
            self._apply(steps, files, lock)
        return InstallResult(steps=steps, lock=lock, scope=self.scope)

    def _plan_install(self, skills: Sequence[PreparedSkill], options: InstallOptions) -> tuple[tuple[InstallStep, ...], Lock]:
        lock = self.lock()
        folders = cache(self._target_folders)
        entries = [self._entry(skill, lock.get(skill.name), options) for skill in skills]
        wanted = [
            WantedSkill(
                placed=self._place(entry, folders(entry.targets)),
                edits=options.edits_by_name.get(entry.name, options.edits),
                force=options.force or entry.name in options.force_names,
                merged=skill.merge.yours if skill.merge else None,
            )
            for entry, skill in zip(entries, skills, strict=True)
        ]
        old = self.place_all(entry for skill in skills if (entry := lock.get(skill.name)))
        disk = self.on_disk(*(want.placed for want in wanted), *old.values())
        steps = plan(wanted, old, disk)
        changed = {step.name for step in changes(steps)}
        # An unchanged entry keeps its date, so that installing again changes nothing.
        entries = [_keep_date(entry, lock.get(entry.name), entry.name in changed) for entry in entries]
        return steps, lock.with_(entries)

    def _plan_backups(
        self, skills: Sequence[PreparedSkill], steps: Sequence[InstallStep]
    ) -> tuple[list[InstallStep], dict[str, bytes]]:
        """Returns the steps and records that `abort_merge` needs, for merges with conflicts."""
        lock, changed = self.lock(), {step.path for step in changes(steps)}
        backups: list[InstallStep] = []
        records: dict[str, bytes] = {}
        for skill in skills:
            if skill.merge is None or not skill.merge.conflicts:
                continue
            old, merge = lock[skill.name], skill.merge
            paths = self.place(old).paths
            disk = read_states(list(paths))
            places = [place for place, path in enumerate(paths) if path in changed and disk[path].kind is PathKind.FOLDER]
            record = MergeRecord(
                old=old, digest=skill.entry.digest, conflicts=merge.conflicts, folders=tuple(places),
                hashes=tuple(merge.files.hashes.get(one.path, ("", ""))[1] for one in merge.conflicts),
                yours=next(place for place in places if disk[paths[place]].files == merge.yours),
            )  # fmt: skip
            backups += backup_steps(self.scope, skill.name, paths, places)
            records[record_path(self.scope, skill.name)] = record.encoded()
        return backups, records

    def _plan_restore(self, options: InstallOptions) -> tuple[tuple[InstallStep, ...], Lock]:
        lock = self.lock()
        old = self.place_all(lock)
        wanted = [WantedSkill(placed=placed, edits=options.edits, force=options.force) for placed in old.values()]
        return plan(wanted, old, self.on_disk(*old.values())), lock

    def _plan_removal(self, names: Collection[str], promote: Mapping[str, str]) -> tuple[tuple[InstallStep, ...], Lock]:
        lock = self.lock()
        old = self.place_all(lock[name] for name in (*names, *promote.values()))
        gone = old.keys() - promote.keys()
        heirs = [
            replace(lock[extra], name=name, targets=lock[name].targets, mode=lock[name].mode) for name, extra in promote.items()
        ]
        wanted = [WantedSkill(placed=self.place(heir), edits=Edits.OVERWRITE, force=True) for heir in heirs]
        steps = plan(wanted, old, self.on_disk(*old.values()), remove=gone)
        return steps, lock.with_(heirs, without=gone)

    def _plan_sync(self) -> tuple[tuple[InstallStep, ...], dict[str, Files], Lock]:
        lock = self.lock()
        old = self.place_all(lock)
        disk = self.on_disk(*old.values())
        present = [placed for placed in old.values() if disk[placed.folder].kind is PathKind.FOLDER]
        steps = plan([WantedSkill(placed=placed) for placed in present], old, disk)
        # Links point to the canonical copy even if it was edited; the copy itself stays as it is.
        steps = tuple(step for step in steps if step.path != old[step.name].folder)
        return steps, _read_files(steps, old), lock

    def _entry(self, skill: PreparedSkill, old: LockEntry | None, options: InstallOptions) -> LockEntry:
        same = old is not None and old.identity == skill.entry.identity
        # Agents that see the skill keep it, also if it comes from another source now.
        targets = {*options.targets, *old.targets} if old else set(options.targets or options.default_targets)
        if skill.entry.is_extra:
            targets = set()
        is_seen = old is not None and same and old.digest == skill.entry.digest and old.capabilities is not None
        is_mode_chosen = options.targets or options.mode is InstallMode.COPY or old is None or not same
        return replace(
            skill.entry,
            targets=tuple(sorted(targets)),
            mode=options.mode if is_mode_chosen or old is None else old.mode,
            installed=self._now(),
            asked=skill.entry.asked or (old.asked if old and same else ""),
            pinned=skill.entry.pinned or bool(old and same and old.pinned),
            # Each names the declaration that it locks, so those that no longer fit are not used.
            packages=old.packages if old and same else (),
            # The list that the user has seen holds until the files change; a new rule of the scan adds nothing to it.
            capabilities=old.capabilities if is_seen and old else skill.entry.capabilities,
        )

    def _only_restores(self, skills: Sequence[PreparedSkill]) -> bool:
        lock = self.lock()
        return all(
            (old := lock.get(skill.name)) is not None
            and old.digest == skill.entry.digest
            and old.identity == skill.entry.identity
            for skill in skills
        )

    def _place(self, entry: LockEntry, folders: Sequence[tuple[str, str]]) -> PlacedSkill:
        others = [(os.path.join(folder, entry.name), os.path.normpath(os.path.join(up, entry.name))) for folder, up in folders]
        if entry.mode is InstallMode.COPY:
            return PlacedSkill(entry=entry, folder=self.folder_of(entry), copies=tuple(other for other, _ in others))
        return PlacedSkill(entry=entry, folder=self.folder_of(entry), links=tuple(others))

    def _target_folders(self, targets: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """Returns the targets' own folders, each with the relative path from there to the canonical copies.

        Relative, so that the tree can be moved; from the real folders, because a home may be a link itself.
        """
        copies = os.path.realpath(self.scope.copy_folder(targets))
        return tuple((each, os.path.relpath(copies, os.path.realpath(each))) for each in self.scope.other_folders(targets))

    def _apply(
        self,
        steps: Sequence[InstallStep],
        skills: Mapping[str, Files],
        lock: Lock,
        records: Mapping[str, bytes] | None = None,
    ) -> tuple[tuple[str, str], ...]:
        if not changes(steps) and lock == self.lock() and self.exists:
            return ()
        portable = Lock({entry.name: replace(entry, origin=self._portable(entry.origin)) for entry in lock})
        wanted = [*changes(steps), *self._obsolete_records(steps, records or {})]
        return apply(wanted, skills, portable, self.scope, records=records, checkpoint=self._checkpoint)

    def _obsolete_records(self, steps: Sequence[InstallStep], records: Mapping[str, bytes]) -> Iterator[InstallStep]:
        """Yields the steps that delete the records of merges that these steps resolve or overwrite."""
        for name in dict.fromkeys(step.name for step in steps if step.verb in (*_WRITES, Verb.REMOVE, Verb.RESTORE)):
            path = record_path(self.scope, name)
            if path not in records and all(step.path != path for step in steps) and (record := read_record(self.scope, name)):
                yield from removal_steps(self.scope, record)

    def _hold(self) -> AbstractContextManager[None]:
        return hold_scope(self.scope, self._checkpoint)

    def _parse(self, text: str) -> Lock:
        lock = parse_lock(text, file=self.scope.lock_file)
        return Lock({entry.name: replace(entry, origin=self._absolute(entry.origin)) for entry in lock})

    def _portable(self, origin: Origin) -> Origin:
        """Writes a source inside the project relative to it, so that the lock is valid in every clone."""
        if origin.kind not in ("path", "archive") or not origin.url.startswith(self.scope.root + os.sep):
            return origin
        return replace(origin, url=f"./{os.path.relpath(origin.url, self.scope.root)}")

    def _absolute(self, origin: Origin) -> Origin:
        if origin.kind not in ("path", "archive") or not origin.url.startswith("./"):
            return origin
        return replace(origin, url=os.path.normpath(os.path.join(self.scope.root, origin.url)))


def store_of(stores: Iterable[SkillStore], name: str) -> SkillStore:
    """Returns the first store that has the skill. Raises SkillNotFoundError."""
    known: list[str] = []
    for store in stores:
        lock = store.lock()
        if name in lock:
            return store
        known += lock.skills
    raise SkillNotFoundError(name, known=known, hint="" if known else "no skills are installed yet; see `metier skill install`")


def group_by_store(stores: Sequence[SkillStore], names: Sequence[str]) -> list[tuple[SkillStore, list[str]]]:
    """Returns the stores that have these skills, each with its names; without names, every store that has skills."""
    if not names:
        return [(store, []) for store in stores if len(store.lock())]
    owners = {name: store_of(stores, name) for name in names}
    groups = [(store, [name for name in names if owners[name] is store]) for store in stores]
    return [(store, chosen) for store, chosen in groups if chosen]


def _read_files(steps: Sequence[InstallStep], old: Mapping[str, PlacedSkill]) -> dict[str, Files]:
    # Imported here: only a new copy needs the files.
    from .fetch.tree import read_folder

    return {step.name: read_folder(old[step.name].folder) for step in steps if step.verb in _WRITES}


def _keep_date(entry: LockEntry, old: LockEntry | None, changed: bool) -> LockEntry:
    if old is None or changed or replace(entry, installed="") != replace(old, installed=""):
        return entry
    return old
