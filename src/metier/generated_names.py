"""Names of files and folders that tools write: version control, installed packages, caches.

They are part of a skill that is used where it is: its digest covers them and the scan reads them. Listings for users and models
leave them out, and so do installing and publishing.

Every start imports this module, so it imports nothing.
"""

from __future__ import annotations

__all__ = ["GENERATED_NAMES", "HISTORY_NAMES", "is_generated"]

HISTORY_NAMES = frozenset({".git", ".hg", ".svn", ".jj"})
GENERATED_NAMES = HISTORY_NAMES | {
    "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".cache",
    ".idea", ".vscode", ".Trash", ".DS_Store",
}  # fmt: skip


def is_generated(path: str) -> bool:
    """Returns True for a file with such a name, or in a folder with such a name."""
    return not GENERATED_NAMES.isdisjoint(path.split("/"))
