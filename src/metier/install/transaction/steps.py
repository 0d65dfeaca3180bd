"""The steps of an installation, which can be printed before anything is done."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from metier.errors import ConflictError
from metier.install.lock.lock_file import Hashes, LockEntry
from metier.values import dataclass

__all__ = ["Edits", "InstallStep", "PlacedSkill", "StepReason", "Verb", "WantedSkill", "changes", "refuse_conflicts"]


class Verb(StrEnum):
    INSTALL = "install"
    UPDATE = "update"
    LINK = "link"
    COPY = "copy"
    SAVE = "save"
    """Keep the folder as NAME.orig before it is replaced."""
    BACKUP = "backup"
    """Copy the folder to where `update --abort` finds it."""
    RESTORE = "restore"
    """Copy a backup to where it was."""
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
    MERGE = "merge"
    """Merge the edits with the new version, and mark the lines that both changed. Only for updates, like the next two."""
    YOURS = "yours"
    """Merge, and keep the user's lines where both changed the same."""
    THEIRS = "theirs"
    """Merge, and take the new version's lines where both changed the same."""


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
    merged: Hashes | None = None
    """The edited files with which the new ones were merged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallStep:
    verb: Verb
    name: str
    path: str
    target: str = ""
    """The target of a link; the new name of a saved folder; the path of a backup."""
    reason: StepReason | None = None
    note: str = ""

    def __str__(self) -> str:
        where = f"{self.path} -> {self.target}" if self.target else self.path
        return f"{self.verb:<8} {self.name}  {where}" + (f"  ({self.note})" if self.note else "")


def changes(steps: Iterable[InstallStep]) -> tuple[InstallStep, ...]:
    return tuple(step for step in steps if step.verb is not Verb.KEEP)


_HINTS = {
    StepReason.EDITED: (
        "`metier skill update NAME` merges your edits; here --force overwrites them, "
        "and --keep installs the new version and keeps yours as NAME.orig"
    ),
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
    hint = _HINTS[first.reason or StepReason.FOREIGN].replace("update NAME", f"update {first.name}")
    raise ConflictError(f"{first.name}: {first.note}{more}", hint=hint)
