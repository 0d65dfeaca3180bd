"""The user's folder that scripts work in: read below, written in a layer above, applied when the user agrees."""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .change import AppliedChanges, FileChange, FileChangeKind
    from .mount import WorkspaceMount
    from .workspace import Workspace, remove_abandoned_layers

_EXPORTS = {
    "metier.runtime.workspace.change": ("AppliedChanges", "FileChange", "FileChangeKind"),
    "metier.runtime.workspace.mount": ("WorkspaceMount",),
    "metier.runtime.workspace.workspace": ("Workspace", "remove_abandoned_layers"),
}
__all__ = ["AppliedChanges", "FileChange", "FileChangeKind", "Workspace", "WorkspaceMount", "remove_abandoned_layers"]

if not TYPE_CHECKING:  # a type checker reads the imports above and finds a misspelled name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
