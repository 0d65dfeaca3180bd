"""A change of one file of a workspace, as it would be applied."""

from __future__ import annotations

from enum import StrEnum

from metier.values import dataclass

__all__ = ["AppliedChanges", "FileChange", "FileChangeKind"]


class FileChangeKind(StrEnum):
    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    path: str
    """Relative to the workspace."""
    kind: FileChangeKind
    old_size: int | None = None
    new_size: int | None = None
    """Bytes. None for folders, links and files that do not exist on that side."""
    old_mode: int | None = None
    new_mode: int | None = None
    """Permissions. Of a new file only the execute bit counts."""
    is_folder: bool = False
    link: str = ""
    """The target, if it becomes a symbolic link."""
    problem: str = ""
    """The reason why it is never applied; empty if it can be."""

    secrets: tuple[str, ...] = ()
    """Names of secrets whose values are in the file. A script that got them as variables has written them there."""

    @property
    def changes_mode(self) -> bool:
        """Returns True if an existing file becomes executable, or is no longer."""
        return self.old_mode is not None and self.new_mode is not None and bool((self.old_mode ^ self.new_mode) & 0o100)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedChanges:
    """The result of applying changes. Those that were not applied stay in the layer."""

    applied: tuple[FileChange, ...] = ()
    refused: tuple[tuple[FileChange, str], ...] = ()
    """Each with the reason."""
