"""The user's folder as one run sees it: values that go from the session to the sandbox."""

from __future__ import annotations

from metier.values import dataclass

__all__ = ["WorkspaceMount"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceMount:
    """The folder below, what hides parts of it, and the layer that takes the writes."""

    folder: str
    """Absolute path of the user's folder, without links. A run sees it at the same path, if the level has mounts."""
    layer: str
    """A private folder: `upper` holds the writes of an overlay, `copy` the whole folder where there are no mounts."""
    mask: str
    """A folder with a whiteout for every hidden file. It lies between the user's folder and the layer."""
    hide: tuple[str, ...] = ()
    """Patterns of further hidden files, as in a .gitignore file."""
    write: bool = True
    """Without it, the run can read only."""

    @property
    def upper(self) -> str:
        return f"{self.layer}/upper"

    @property
    def merged(self) -> str:
        """The place of the mount, in the namespace of a run."""
        return f"{self.layer}/merged"

    @property
    def copy(self) -> str:
        return f"{self.layer}/copy"
