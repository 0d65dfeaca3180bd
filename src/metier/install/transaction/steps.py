"""The steps of an installation, which can be printed before anything is done."""

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
    """Keep the folder as NAME.orig before it is replaced."""
    REMOVE = "remove"
    UNLINK = "unlink"
    KEEP = "keep"
    """Nothing to do: the path is up to date, or edited without a newer version."""
    CONFLICT = "conflict"
    """Something else is at the path; nothing is done until this is resolved."""


class StepReason(StrEnum):
    EDITED = "edited"
    """The files were edited, and there is a newer version."""
    TAKEN = "taken"
    """A skill of the same name is installed from another origin."""
    FOREIGN = "foreign"
    """metier did not install what is at the path."""
    TWICE = "twice"
    """Two of the requested skills have the same name."""


class Edits(StrEnum):
    """The treatment of files that the user edited."""

    REFUSE = "refuse"
    OVERWRITE = "overwrite"
    KEEP = "keep"
    """Install the new version and keep the edited one as NAME.orig."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedSkill:
    """A skill with its paths."""

    entry: LockEntry
    folder: str
    """The canonical copy."""
    links: tuple[tuple[str, str], ...] = ()
    """Links, each with its target."""
    copies: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.folder, *self.copies, *(path for path, _ in self.links))


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedSkill:
    placed: PlacedSkill
    edits: Edits = Edits.REFUSE
    force: bool = False
    """Replace another skill of the name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallStep:
    verb: Verb
    name: str
    path: str
    target: str = ""
    """The target of a link; the new name of a saved folder."""
    reason: StepReason | None = None
    note: str = ""

    def __str__(self) -> str:
        where = f"{self.path} -> {self.target}" if self.target else self.path
        return f"{self.verb:<8} {self.name}  {where}" + (f"  ({self.note})" if self.note else "")


def changes(steps: Iterable[InstallStep]) -> tuple[InstallStep, ...]:
    return tuple(step for step in steps if step.verb is not Verb.KEEP)


_HINTS = {
    StepReason.EDITED: "--force overwrites the edits; --keep installs the new version and keeps yours as NAME.orig",
    StepReason.TAKEN: "--name NEW installs it beside the other; --force replaces the other",
    StepReason.FOREIGN: "--name NEW installs it under another name; --force replaces the other and keeps it as NAME.orig",
    StepReason.TWICE: "choose one with --skill, or install one with --name NEW",
}


def refuse_conflicts(steps: Iterable[InstallStep]) -> None:
    """Raises ConflictError if one of the steps is a conflict."""
    found = [step for step in steps if step.verb is Verb.CONFLICT]
    if not found:
        return
    first = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    raise ConflictError(f"{first.name}: {first.note}{more}", hint=_HINTS[first.reason or StepReason.FOREIGN])
