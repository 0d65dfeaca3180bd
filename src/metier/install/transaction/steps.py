"""What installing will do, as values that can be printed before anything is done."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from metier.errors import ConflictError
from metier.install.lock.lock_file import LockEntry
from metier.values import dataclass

__all__ = ["Edits", "InstallStep", "PlacedSkill", "StepReason", "Verb", "WantedSkill", "changes", "refuse_conflicts"]


class Verb(StrEnum):
    INSTALL = "install"
    UPDATE = "update"
    LINK = "link"
    COPY = "copy"
    SAVE = "save"
    """What stands there is kept as NAME.orig before it is replaced."""
    REMOVE = "remove"
    UNLINK = "unlink"
    KEEP = "keep"
    """Nothing to do: it is as it should be, or somebody edited it and nothing newer is there."""
    CONFLICT = "conflict"
    """Something is in the way; nothing at all is done until that is settled."""


class StepReason(StrEnum):
    EDITED = "edited"
    """Somebody changed the files, and there is something newer."""
    TAKEN = "taken"
    """A skill of the same name is installed from somewhere else."""
    FOREIGN = "foreign"
    """Something is there that metier did not install."""
    TWICE = "twice"
    """Two of the skills that were asked for have one name."""


class Edits(StrEnum):
    """What happens to files that somebody changed since they were installed."""

    REFUSE = "refuse"
    OVERWRITE = "overwrite"
    KEEP = "keep"
    """Take the new version and keep the old one as NAME.orig."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedSkill:
    """A skill with the paths it has, or should have."""

    entry: LockEntry
    folder: str
    """Of the canonical copy."""
    links: tuple[tuple[str, str], ...] = ()
    """Where a link should be, and what is written in it."""
    copies: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.folder, *self.copies, *(path for path, _ in self.links))


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedSkill:
    placed: PlacedSkill
    edits: Edits = Edits.REFUSE
    force: bool = False
    """Take the name even from another skill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallStep:
    verb: Verb
    name: str
    path: str
    target: str = ""
    """Of a link: what is written in it. Of a saved folder: its name afterwards."""
    reason: StepReason | None = None
    note: str = ""

    def __str__(self) -> str:
        where = f"{self.path} -> {self.target}" if self.target else self.path
        return f"{self.verb:<8} {self.name}  {where}" + (f"  ({self.note})" if self.note else "")


def changes(steps: Iterable[InstallStep]) -> tuple[InstallStep, ...]:
    return tuple(step for step in steps if step.verb is not Verb.KEEP)


_HINTS = {
    StepReason.EDITED: "--force overwrites the edits, --keep takes the new version and keeps yours as NAME.orig",
    StepReason.TAKEN: "--name NEW installs it beside the other, --force replaces that",
    StepReason.FOREIGN: "--name NEW installs it under another name, --force replaces what is there and keeps that as NAME.orig",
    StepReason.TWICE: "choose one of them with --skill, or install one of them with --name NEW",
}


def refuse_conflicts(steps: Iterable[InstallStep]) -> None:
    """Conflict if one step says so: nothing is done before all can be."""
    found = [step for step in steps if step.verb is Verb.CONFLICT]
    if not found:
        return
    first = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    raise ConflictError(f"{first.name}: {first.note}{more}", hint=_HINTS[first.reason or StepReason.FOREIGN])
