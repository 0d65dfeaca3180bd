"""Where skills are under a folder, found with as few system calls as the question allows.

A flat folder of ten thousand skills costs one scandir and one stat each. The search is bounded, because a place may turn
out to be a whole disk: at most `depth` levels and `directories` folders that are no skills themselves. It stops below a
skill, skips what is never a skill, and follows no link out of its root. What was cut is said.

This module is on the path of every start, so it imports nothing but `os` and `stat`.
"""

from __future__ import annotations

import os
from stat import S_ISLNK, S_ISREG

__all__ = ["DEPTH", "DIRECTORIES", "SKIPPED_NAMES", "FolderSearch", "find_skill_folders"]

DEPTH = 6
DIRECTORIES = 2_000
SKIPPED_NAMES = frozenset({
    ".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox", ".mypy_cache",
    ".ruff_cache", ".pytest_cache", ".cache", ".idea", ".vscode", ".Trash", ".DS_Store",
})  # fmt: skip


class FolderSearch:
    """What one search found. `found` holds (folder, mtime_ns, size) of each SKILL.md, sorted by folder."""

    __slots__ = ("cut", "found", "odd")

    def __init__(self) -> None:
        self.found: list[tuple[str, int, int]] = []
        self.odd: list[tuple[str, str, str]] = []
        """(folder, code, message) of what looks like a skill and is not one."""
        self.cut: list[str] = []


def find_skill_folders(root: str, *, depth: int = DEPTH, directories: int = DIRECTORIES) -> FolderSearch:
    result = FolderSearch()
    try:
        root = os.path.realpath(root)
        if _is_skill(root, result):
            return result
        _search(root, depth, directories, result)
    except (OSError, ValueError) as error:
        # ValueError: a path with a NUL in it.
        if not isinstance(error, FileNotFoundError):
            result.cut.append(f"{root} cannot be searched: {_reason(error)}")
    result.found.sort()
    return result


def _search(root: str, depth: int, directories: int, result: FolderSearch) -> None:
    level = [root]
    searched = 0
    for _ in range(depth):
        below: list[str] = []
        for folder in level:
            if searched >= directories:
                result.cut.append(
                    f"{root}: stopped after {directories:,} folders, at {folder}; raise skills.max_directories to see the rest"
                )
                return
            searched += 1
            try:
                _look_into(folder, root, below, result)
            except OSError as error:
                if folder == root:
                    raise
                # One that has vanished meanwhile is no news; whatever else is wrong with one folder hides no other.
                if not isinstance(error, FileNotFoundError):
                    result.cut.append(f"{folder} cannot be searched: {_reason(error)}")
        level = below
        if not level:
            return
    result.cut.append(
        f"{root}: {len(level):,} folders are deeper than {depth} levels and were not searched, such as {min(level)}; "
        "raise skills.max_depth to see them"
    )


def _look_into(folder: str, root: str, below: list[str], result: FolderSearch) -> None:
    found, stat = result.found, os.stat
    with os.scandir(folder) as children:
        for child in children:
            if child.is_dir(follow_symlinks=False):
                if child.name in SKIPPED_NAMES:
                    continue
                path = child.path
                # The hot line: nearly every child of a place is a skill, so ask for its file before anything else.
                try:
                    status = stat(f"{path}/SKILL.md", follow_symlinks=False)
                except OSError:
                    below.append(path)
                    continue
                if S_ISREG(status.st_mode):
                    found.append((path, status.st_mtime_ns, status.st_size))
                else:
                    _judge_odd_file(path, status.st_mode, result)
            elif child.is_symlink():
                _follow(child.path, root, result)
            elif child.name == "SKILL.md":
                # It could not be looked at a moment ago: the folder may be listed but not entered.
                result.odd.append((folder, "SK015", "SKILL.md cannot be read: permission denied"))
            elif child.name.lower() == "skill.md" and folder != root:
                result.odd.append((folder, "SK013", f"the file is called {child.name}, not SKILL.md"))


def _is_skill(folder: str, result: FolderSearch) -> bool:
    """Does the folder hold a SKILL.md? Records what it found there."""
    try:
        status = os.stat(f"{folder}/SKILL.md", follow_symlinks=False)
    except OSError:
        return False
    if S_ISREG(status.st_mode):
        result.found.append((folder, status.st_mtime_ns, status.st_size))
    else:
        _judge_odd_file(folder, status.st_mode, result)
    return True


def _judge_odd_file(folder: str, mode: int, result: FolderSearch) -> None:
    if not S_ISLNK(mode):
        result.odd.append((folder, "SK002", "SKILL.md is not a file"))
        return
    target = os.path.realpath(f"{folder}/SKILL.md")
    try:
        status = os.stat(target)
    except OSError:
        result.odd.append((folder, "SK015", "SKILL.md is a link to nothing"))
        return
    if not _inside(target, folder):
        result.odd.append((folder, "SK017", f"SKILL.md is a link out of the skill, to {target}"))
    elif S_ISREG(status.st_mode):
        result.found.append((folder, status.st_mtime_ns, status.st_size))
    else:
        result.odd.append((folder, "SK002", "SKILL.md is not a file"))


def _follow(link: str, root: str, result: FolderSearch) -> None:
    """A link to a folder is never followed: inside the root its target is found anyway, outside it is none of ours."""
    target = os.path.realpath(link)
    if not _inside(target, root) and os.path.exists(f"{target}/SKILL.md"):
        result.odd.append((link, "SK017", f"it is a link out of the searched folder, to {target}"))


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
