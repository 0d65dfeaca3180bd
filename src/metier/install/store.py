"""The installed skills of one scope: what the lock promises, what stands on disk, and how one becomes the other."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache

from metier.errors import ConfigError, ConflictError, MetierError, RefusedError, UsageError
from metier.spec import Files
from metier.values import dataclass, field, replace

from .fetch.results import FetchedSkill, Origin
from .lock.lock_file import Lock, LockEntry, parse_lock
from .prepare import PreparedSkill
from .targets.scope import InstallMode, InstallScope
from .transaction.apply import apply, held, nowhere
from .transaction.journal import At
from .transaction.plan import plan
from .transaction.state import PathState, read_states
from .transaction.steps import Edits, InstallStep, PlacedSkill, Verb, WantedSkill, changes, refuse_conflicts

__all__ = ["InstallOptions", "InstallResult", "SkillStore"]

_WRITES = (Verb.INSTALL, Verb.UPDATE, Verb.COPY)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOptions:
    """The choices of one installation."""

    targets: tuple[str, ...] = ()
    mode: InstallMode = InstallMode.LINK
    edits: Edits = Edits.REFUSE
    force: bool = False
    frozen: bool = False
    """Refuse whatever would change the lock, or differ from it."""
    dry_run: bool = False
    answers: Mapping[str, Edits] = field(default_factory=dict)
    """For single skills, where a person was asked."""
    forced: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallResult:
    steps: tuple[InstallStep, ...]
    lock: Lock
    saved: tuple[tuple[str, str], ...] = ()
    """What was kept before it was replaced: from where, to where."""
    done: bool = True
    notes: tuple[str, ...] = field(default=())


def utc_now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class SkillStore:
    def __init__(self, scope: InstallScope, *, now: Callable[[], str] = utc_now, at: At = nowhere) -> None:
        self.scope = scope
        self._now, self._at = now, at
        self._known: tuple[tuple[int, int, int], Lock] | None = None

    @property
    def exists(self) -> bool:
        return os.path.lexists(self.scope.lock_file)

    @property
    def is_interrupted(self) -> bool:
        """An installation was decided and not finished; the next change finishes it."""
        return os.path.lexists(self.scope.journal)

    def lock(self) -> Lock:
        try:
            with open(self.scope.lock_file, encoding="utf-8") as stream:
                # Every change makes another file, so the same one says the same: planning and applying read it once.
                status = os.fstat(stream.fileno())
                key = (status.st_ino, status.st_mtime_ns, status.st_size)
                if self._known is None or self._known[0] != key:
                    self._known = (key, self._parsed(stream.read()))
                return self._known[1]
        except FileNotFoundError:
            return Lock()
        except UnicodeDecodeError as error:
            raise ConfigError(
                "not UTF-8 text", file=self.scope.lock_file, hint="restore the file from version control"
            ) from error

    def _parsed(self, text: str) -> Lock:
        lock = parse_lock(text, file=self.scope.lock_file)
        return Lock({entry.name: replace(entry, origin=self._absolute(entry.origin)) for entry in lock})

    def folder_of(self, entry: LockEntry) -> str:
        """Of the canonical copy."""
        return os.path.join(self.scope.copy_folder(entry.targets), entry.name)

    def placed(self, entry: LockEntry) -> PlacedSkill:
        """Where a skill is, going by its targets."""
        return self.all_placed([entry])[entry.name]

    def all_placed(self, entries: Iterable[LockEntry]) -> dict[str, PlacedSkill]:
        """The same for many, by name. The folders of those with the same targets are looked up once."""
        ways = cache(self._ways)
        return {entry.name: self._placed(entry, ways(entry.targets)) for entry in entries}

    def _placed(self, entry: LockEntry, ways: Sequence[tuple[str, str]]) -> PlacedSkill:
        others = [(os.path.join(other, entry.name), os.path.normpath(os.path.join(way, entry.name))) for other, way in ways]
        if entry.mode is InstallMode.COPY:
            return PlacedSkill(entry=entry, folder=self.folder_of(entry), copies=tuple(other for other, _ in others))
        return PlacedSkill(entry=entry, folder=self.folder_of(entry), links=tuple(others))

    def _ways(self, targets: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """Every other folder in which these agents look, and the way from there to the folder of canonical copies.

        Relative, so that the tree can be moved; from where the folders really are, because a home may be a link itself.
        """
        copies = os.path.realpath(self.scope.copy_folder(targets))
        return tuple((each, os.path.relpath(copies, os.path.realpath(each))) for each in self.scope.other_folders(targets))

    def as_installed(self, entry: LockEntry) -> FetchedSkill:
        """A skill of the lock as it stands here, as if its source had been asked; Conflict if it is not as it was."""
        # Imported here: it brings all that fetches along, and a removal needs nothing of that.
        from .fetch.local import read_folder

        folder = self.folder_of(entry)
        if read_states([folder])[folder].files != entry.files:
            raise ConflictError(f"{entry.name} was edited here, or is gone", hint="see `metier skill verify`")
        return FetchedSkill(
            name=entry.called or entry.name, files=read_folder(folder), digest=entry.digest, origin=entry.origin
        )

    def on_disk(self, *placed: PlacedSkill) -> dict[str, PathState]:
        return read_states(sorted({path for each in placed for path in each.paths}))

    def install(
        self, skills: Sequence[PreparedSkill], how: InstallOptions, *, agreed: Callable[[], None] = lambda: None
    ) -> InstallResult:
        """Put these skills where they belong. A skill that is here already keeps its targets and gains the new ones.

        `agreed` raises if they must not be there: asked once all is ready, and before any other objection is told.
        """
        if how.dry_run:
            steps, lock, _ = self._planned(skills, how)
            return InstallResult(steps=steps, lock=lock, done=False)
        with held(self.scope, self._at):
            steps, lock, material = self._planned(skills, how)
            try:
                refuse_conflicts(steps)
                if how.frozen and (changes(steps) or lock != self.lock()) and not self._only_restores(skills):
                    raise RefusedError(
                        "--frozen, and this would change the lock", rule="frozen", hint="run it without --frozen"
                    )
            except MetierError:
                agreed()
                raise
            saved = self._apply(steps, material, lock, agreed)
        return InstallResult(steps=steps, lock=lock, saved=saved)

    def lacking(self, how: InstallOptions) -> tuple[tuple[InstallStep, ...], tuple[str, ...]]:
        """What it takes to be as the lock says, and the skills whose files that needs."""
        steps, _ = self._restoring(how)
        return steps, tuple(dict.fromkeys(step.name for step in steps if step.verb in _WRITES))

    def restore(self, skills: Mapping[str, PreparedSkill], how: InstallOptions) -> InstallResult:
        """Make everything as the lock says; the lock stays as it is, to the byte."""
        with held(self.scope, self._at):
            steps, lock = self._restoring(how)
            refuse_conflicts(steps)
            missing = {step.name for step in steps if step.verb in _WRITES} - skills.keys()
            if missing:
                raise ConflictError(f"{', '.join(sorted(missing))}: changed while this ran", hint="try again")
            self._apply(steps, {name: skill.files for name, skill in skills.items()}, lock)
        return InstallResult(steps=steps, lock=lock)

    def remove(self, names: Collection[str], *, dry_run: bool = False) -> InstallResult:
        """Take these skills out of the lock, their folder and every agent's."""
        if dry_run:
            steps, lock = self._removal(names)
            return InstallResult(steps=steps, lock=lock, done=False)
        with held(self.scope, self._at):
            steps, lock = self._removal(names)
            self._apply(steps, {}, lock)
        return InstallResult(steps=steps, lock=lock)

    def take_away(self, name: str, targets: Collection[str]) -> InstallResult:
        """Let these agents no longer see a skill; the others, and metier, still do."""
        with held(self.scope, self._at):
            lock = self.lock()
            entry = lock[name]
            if strangers := sorted(set(targets) - set(entry.targets)):
                has = ", ".join(entry.targets) or "metier alone"
                raise UsageError(f"{name} is not installed for {', '.join(strangers)}", hint=f"it is for {has}")
            rest = tuple(target for target in entry.targets if target not in targets)
            old, new = self.placed(entry), self.placed(replace(entry, targets=rest))
            disk = self.on_disk(old, new)
            steps = plan([WantedSkill(placed=new)], {name: old}, disk)
            refuse_conflicts(steps)
            after = lock.with_([new.entry])
            self._apply(steps, self._as_on_disk(steps, {name: old}), after)
        return InstallResult(steps=steps, lock=after)

    def change(self, names: Collection[str], change: Callable[[LockEntry], LockEntry]) -> Lock:
        """Change what the lock says of these skills, and nothing on disk."""
        with held(self.scope, self._at):
            before = self.lock()
            after = before.with_(change(before[name]) for name in names)
            if after != before:
                self._apply((), {}, after)
        return after

    def sync(self, *, dry_run: bool = False) -> InstallResult:
        """Make every link and copy that is missing or wrong again; whole skills that are missing are for `install`."""
        if dry_run:
            steps, _, lock = self._repairs()
            return InstallResult(steps=steps, lock=lock, done=False)
        with held(self.scope, self._at):
            steps, material, lock = self._repairs()
            refuse_conflicts(steps)
            self._apply(steps, material, lock)
        return InstallResult(steps=steps, lock=lock)

    def _planned(
        self, skills: Sequence[PreparedSkill], how: InstallOptions
    ) -> tuple[tuple[InstallStep, ...], Lock, dict[str, Files]]:
        lock = self.lock()
        ways = cache(self._ways)
        entries = [self._entry(skill, lock.get(skill.name), how) for skill in skills]
        wanted = [
            WantedSkill(
                placed=self._placed(entry, ways(entry.targets)),
                edits=how.answers.get(entry.name, how.edits),
                force=how.force or entry.name in how.forced,
            )
            for entry in entries
        ]
        old = self.all_placed(entry for skill in skills if (entry := lock.get(skill.name)))
        disk = self.on_disk(*(want.placed for want in wanted), *old.values())
        steps = plan(wanted, old, disk)
        changed = {step.name for step in changes(steps)}
        # What is as it was keeps its date, so that doing nothing changes nothing.
        entries = [_undated(entry, lock.get(entry.name), entry.name in changed) for entry in entries]
        return steps, lock.with_(entries), {skill.name: skill.files for skill in skills}

    def _restoring(self, how: InstallOptions) -> tuple[tuple[InstallStep, ...], Lock]:
        lock = self.lock()
        old = self.all_placed(lock)
        wanted = [WantedSkill(placed=placed, edits=how.edits, force=how.force) for placed in old.values()]
        return plan(wanted, old, self.on_disk(*old.values())), lock

    def _entry(self, skill: PreparedSkill, old: LockEntry | None, how: InstallOptions) -> LockEntry:
        same = old is not None and old.identity == skill.entry.identity
        targets = set(how.targets) | set(old.targets if old and same else ())
        mode = how.mode if how.targets or how.mode is InstallMode.COPY or old is None or not same else old.mode
        return replace(skill.entry, targets=tuple(sorted(targets)), mode=mode, installed=self._now(),
                       asked=skill.entry.asked or (old.asked if old and same else ""),
                       pinned=skill.entry.pinned or bool(old and same and old.pinned))  # fmt: skip

    def _removal(self, names: Collection[str]) -> tuple[tuple[InstallStep, ...], Lock]:
        lock = self.lock()
        old = self.all_placed(lock[name] for name in names)
        return plan((), old, self.on_disk(*old.values()), remove=names), lock.with_((), without=names)

    def _repairs(self) -> tuple[tuple[InstallStep, ...], dict[str, Files], Lock]:
        lock = self.lock()
        old = self.all_placed(lock)
        disk = self.on_disk(*old.values())
        present = [placed for placed in old.values() if disk[placed.folder].kind == "folder"]
        steps = plan([WantedSkill(placed=placed) for placed in present], old, disk)
        # An edited skill is still the one to link to; its folder is not our business here.
        steps = tuple(step for step in steps if step.path != old[step.name].folder)
        return steps, self._as_on_disk(steps, old), lock

    @staticmethod
    def _as_on_disk(steps: Sequence[InstallStep], old: Mapping[str, PlacedSkill]) -> dict[str, Files]:
        # Imported here: reading skills from disk is only needed to copy one.
        from .fetch.local import read_folder

        return {step.name: read_folder(old[step.name].folder) for step in steps if step.verb in _WRITES}

    def _only_restores(self, skills: Sequence[PreparedSkill]) -> bool:
        lock = self.lock()
        return all(
            (old := lock.get(skill.name)) is not None
            and old.digest == skill.entry.digest
            and old.identity == skill.entry.identity
            for skill in skills
        )

    def _apply(
        self, steps: Sequence[InstallStep], skills: Mapping[str, Files], lock: Lock, agreed: Callable[[], None] = lambda: None
    ) -> tuple[tuple[str, str], ...]:
        if not changes(steps) and lock == self.lock() and self.exists:
            agreed()
            return ()
        portable = Lock({entry.name: replace(entry, origin=self._portable(entry.origin)) for entry in lock})
        wanted = [step for step in steps if step.verb is not Verb.KEEP]
        return apply(wanted, skills, portable, self.scope, at=self._at, agreed=agreed)

    def _portable(self, origin: Origin) -> Origin:
        """A source inside the project is written relative to it, so that the lock means the same for whoever clones it."""
        if origin.kind not in ("path", "archive") or not origin.url.startswith(self.scope.root + os.sep):
            return origin
        return replace(origin, url=f"./{os.path.relpath(origin.url, self.scope.root)}")

    def _absolute(self, origin: Origin) -> Origin:
        if origin.kind not in ("path", "archive") or not origin.url.startswith("./"):
            return origin
        return replace(origin, url=os.path.normpath(os.path.join(self.scope.root, origin.url)))


def _undated(entry: LockEntry, old: LockEntry | None, changed: bool) -> LockEntry:
    if old is None or changed or replace(entry, installed="") != replace(old, installed=""):
        return entry
    return old
