"""The folders of skills anywhere in a repository, for a list of what is there."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator

from .skill_folders import SKIPPED_NAMES

__all__ = ["find_nested_folders"]

_DEPTH = 6
_MOST_FOLDERS = 20_000


def find_nested_folders(root: str, names: Collection[str]) -> Iterator[str]:
    """Yields each folder below `root` that has one of these relative paths at its end, such as `.agents/skills`.

    Follows no link, and looks at no folder of dependencies.
    """
    pending, seen = [(root, 0)], 0
    while pending:
        folder, depth = pending.pop()
        seen += 1
        if seen > _MOST_FOLDERS:
            return
        yield from (path for name in names if os.path.isdir(path := os.path.join(folder, name)) and not _is_link(folder, name))
        if depth < _DEPTH:
            pending += [(child, depth + 1) for child in reversed(_children(folder))]


def _is_link(folder: str, name: str) -> bool:
    path = os.path.join(folder, name)
    return os.path.realpath(path) != os.path.join(os.path.realpath(folder), name)


def _children(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as children:
            return sorted(
                child.path
                for child in children
                if not child.name.startswith(".") and child.name not in SKIPPED_NAMES and child.is_dir(follow_symlinks=False)
            )
    except OSError:
        return []
