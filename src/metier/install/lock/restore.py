"""The same set on a new machine: what the lock names, from the sources it names, byte for byte what it promises."""

from __future__ import annotations

from collections.abc import Sequence

from metier.errors import MetierError, NotFoundError, RefusedError
from metier.install.prepare import PreparedSkill, prepare, refuse_blocked
from metier.install.protocols import Fetcher, FetchResult, Scan
from metier.install.store import InstallOptions, InstallResult, SkillStore
from metier.install.transaction.steps import StepReason

from .lock_file import LockEntry

__all__ = ["check_locked", "restore"]


def restore(store: SkillStore, fetcher: Fetcher, how: InstallOptions, *, scan: Scan | None = None) -> InstallResult:
    """Bring back what is missing or older. Edited skills stay as they are; with `frozen` they are refused."""
    lock = store.lock()
    if not len(lock):
        raise NotFoundError(
            f"nothing is locked in {store.scope.lock_file}", hint="name what to install: `metier skill install REF`"
        )
    steps, names = store.lacking(how)
    edited = [step for step in steps if step.reason is StepReason.EDITED]
    if how.frozen and edited:
        raise RefusedError(f"--frozen, and {edited[0].name} is not as the lock says: {edited[0].note}", rule="frozen",
                      hint="--force takes what the lock says; `metier skill verify` lists every difference")  # fmt: skip
    if how.dry_run:
        return InstallResult(steps=steps, lock=lock, done=False)
    entries = [lock[name] for name in names]
    fetched = fetcher.exact(entries) if entries else ()
    ready = _checked(entries, fetched, scan)
    refuse_blocked(ready.values())
    return store.restore(ready, how)


def _checked(entries: Sequence[LockEntry], fetched: Sequence[FetchResult], scan: Scan | None) -> dict[str, PreparedSkill]:
    return {entry.name: check_locked(entry, found, scan=scan) for entry, found in zip(entries, fetched, strict=True)}


def check_locked(entry: LockEntry, found: FetchResult, *, scan: Scan | None = None) -> PreparedSkill:
    """A fetched skill as the one that was locked; Refused if it is another by one byte."""
    if isinstance(found, MetierError):
        raise found
    if found.digest != entry.digest:
        raise RefusedError(
            f"{entry.name} from {entry.origin.url} is not what was locked: {found.digest}, not {entry.digest}",
            rule="digest", hint=f"`metier skill update {entry.name}` takes what is there now, after showing what changed",
        )  # fmt: skip
    prepared = prepare(found, name=entry.name if entry.called else None, scan=scan)
    if prepared.entry.files != entry.files:
        raise RefusedError(f"{entry.name} would be written in other bytes than were locked", rule="digest",
                      hint=f"install it again: `metier skill install {entry.asked or entry.origin.url} --force`")  # fmt: skip
    return prepared
