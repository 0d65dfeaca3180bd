"""Restores the lock on another machine: the skills that it names, from the sources that it names, byte for byte."""

from __future__ import annotations

from metier.errors import MetierError, NotFoundError, RefusedError
from metier.install.options import InstallOptions, InstallResult
from metier.install.prepare import PreparedSkill, prepare, refuse_blocked
from metier.install.protocols import Fetcher, FetchResult, Scan
from metier.install.store import SkillStore
from metier.install.transaction.steps import StepReason

from .lock_file import LockEntry

__all__ = ["check_locked", "restore"]


def restore(store: SkillStore, fetcher: Fetcher, options: InstallOptions, *, scan: Scan | None = None) -> InstallResult:
    """Restores skills that are missing or differ. Edited skills stay as they are; with `frozen` they are an error."""
    lock = store.lock()
    if not len(lock):
        raise NotFoundError(f"{store.scope.lock_file} has no skills", hint="name a skill: `metier skill install REF`")
    steps, names = store.plan_restore(options)
    edited = [step for step in steps if step.reason is StepReason.EDITED]
    if options.frozen and edited:
        raise RefusedError(f"--frozen, but {edited[0].name} differs from the lock: {edited[0].note}", rule="frozen",
                           hint="--force restores it; `metier skill verify` lists every difference")  # fmt: skip
    if options.dry_run:
        return InstallResult(steps=steps, lock=lock, scope=store.scope, names=tuple(lock.skills), done=False)
    entries = [lock[name] for name in names]
    fetched = fetcher.exact(entries) if entries else ()
    skills = {entry.name: check_locked(entry, found, scan=scan) for entry, found in zip(entries, fetched, strict=True)}
    refuse_blocked(skills.values())
    return store.restore(skills, options)


def check_locked(entry: LockEntry, found: FetchResult, *, scan: Scan | None = None) -> PreparedSkill:
    """Prepares a fetched skill. Raises RefusedError if it differs from the locked one by a single byte."""
    if isinstance(found, MetierError):
        raise found
    if found.digest != entry.digest:
        raise RefusedError(
            f"{entry.name} from {entry.origin.url} differs from the lock: {found.digest}, expected {entry.digest}",
            rule="digest", hint=f"`metier skill update {entry.base_name}` takes the current version and shows what changed",
        )  # fmt: skip
    if found.too_new:
        raise found.too_new
    prepared = prepare(found, name=entry.base_name if entry.called else None, scan=scan)
    if entry.is_extra:
        prepared = prepared.as_extra()
    if prepared.entry.files != entry.files:
        raise RefusedError(f"the files of {entry.name} would differ from the lock", rule="digest",
                           hint=f"run `metier skill install {entry.asked or entry.origin.url} --force`")  # fmt: skip
    return prepared
