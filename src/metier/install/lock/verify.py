"""Compares the installed skills with the lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from metier.errors import RefusedError
from metier.install.store import SkillStore
from metier.install.transaction.plan import edited_files, plan
from metier.install.transaction.state import PathKind
from metier.install.transaction.steps import Verb, WantedSkill
from metier.values import dataclass, replace

from .lock_file import LockEntry

if TYPE_CHECKING:
    from metier.install.fetch.job import Access

__all__ = ["LockCondition", "LockVerdict", "verify"]


class LockCondition(StrEnum):
    OK = "ok"
    EDITED = "edited"
    MISSING = "missing"
    DRIFTED = "drifted"
    """The skill itself is unchanged, but an agent that should see it does not."""
    PACKAGES = "packages"
    """The skill itself is unchanged, but the prepared packages of its scripts are not."""
    UNSIGNED = "unsigned"
    """The skill itself is unchanged, but it has not the signature that its source demands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockVerdict:
    entry: LockEntry
    folder: str
    condition: LockCondition
    details: tuple[str, ...] = ()
    """`M path`, `A path`, `D path`, or the problem of a link."""
    signed_by: tuple[str, ...] = ()
    """The signers that its source demands."""


def verify(
    store: SkillStore, names: Sequence[str] = (), *, packages: Callable[[LockEntry], tuple[str, ...]] | None = None,
    access: Access | None = None,
) -> tuple[LockVerdict, ...]:  # fmt: skip
    """Compares these skills with the lock, byte for byte; without names, all of them.

    `packages` returns the differences of a skill's prepared packages; without it they are not checked. `access` has the
    sources that demand signatures; without it these are not checked.
    """
    lock = store.lock()
    placed = [*store.place_all([lock[name] for name in names] if names else lock).values()]
    disk = store.on_disk(*placed)
    found: list[LockVerdict] = []
    for each in placed:
        entry, state = each.entry, disk[each.folder]
        wrong = tuple(
            f"{step.path}: {step.note or 'missing or different'}"
            for step in plan([WantedSkill(placed=each)], {entry.name: each}, disk)
            if step.path != each.folder and (step.verb is not Verb.KEEP or step.note)
        )
        details = wrong
        condition = LockCondition.DRIFTED if wrong else LockCondition.OK
        if state.kind is not PathKind.FOLDER:
            condition, details = LockCondition.MISSING, (f"{each.folder} is {state.kind}", *wrong)
        elif state.files != entry.files:
            condition, details = LockCondition.EDITED, (*edited_files(entry.files, state.files), *wrong)
        changed = packages(entry) if packages and entry.packages else ()
        if changed:
            condition = LockCondition.PACKAGES if condition is LockCondition.OK else condition
            details = (*details, *changed)
        signers: tuple[str, ...] = ()
        if access and condition is LockCondition.OK:
            try:
                signers = _signers(store, entry, access)
            except RefusedError as error:
                condition, details = LockCondition.UNSIGNED, (str(error),)
        found.append(LockVerdict(entry=entry, folder=each.folder, condition=condition, details=details, signed_by=signers))
    return tuple(found)


def _signers(store: SkillStore, entry: LockEntry, access: Access) -> tuple[str, ...]:
    """Returns the signers of a skill that is as the lock has it. The name of a renamed one was changed after it was signed."""
    if not access.signature_policies(entry.origin):
        return ()
    source = access.cache.get(entry.digest) if access.cache and entry.called else None
    skill = store.read_installed(entry)
    return access.check_signatures(replace(skill, files=source) if source else skill).signed_by
