"""Is everything that the lock promises there, and is it what the lock says?"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from metier.values import dataclass

from .lock import Locked
from .plan import edited_files, plan
from .state import Kind
from .steps import Verb, Wanted
from .store import Store

__all__ = ["Condition", "Verdict", "verify"]


class Condition(StrEnum):
    OK = "ok"
    EDITED = "edited"
    MISSING = "missing"
    DRIFTED = "drifted"
    """The skill itself is right, but an agent that should see it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    entry: Locked
    folder: str
    condition: Condition
    details: tuple[str, ...] = ()
    """`M path`, `A path`, `D path`, or what is wrong with a link."""


def verify(store: Store, names: Sequence[str] = ()) -> tuple[Verdict, ...]:
    lock = store.lock()
    placed = [*store.all_placed([lock[name] for name in names] if names else lock).values()]
    disk = store.on_disk(*placed)
    found: list[Verdict] = []
    for each in placed:
        entry, seen = each.entry, disk[each.folder]
        wrong = tuple(
            f"{step.path}: {step.note or 'not there as it should be'}"
            for step in plan([Wanted(placed=each)], {entry.name: each}, disk)
            if step.path != each.folder and (step.verb is not Verb.KEEP or step.note)
        )
        details = wrong
        condition = Condition.DRIFTED if wrong else Condition.OK
        if seen.kind is not Kind.FOLDER:
            condition, details = Condition.MISSING, (f"{each.folder} is {seen.kind}", *wrong)
        elif seen.files != entry.files:
            condition, details = Condition.EDITED, (*edited_files(entry.files, seen.files), *wrong)
        found.append(Verdict(entry=entry, folder=each.folder, condition=condition, details=details))
    return tuple(found)
