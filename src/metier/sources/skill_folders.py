"""Finds the skill folders below a root, with few system calls.

A flat folder of ten thousand skills costs one scandir and one stat each. The search is bounded, because a root may be a whole
disk: at most `depth` levels and `directories` folders that are not skills. It does not search inside a skill or in folders
such as `.git`, and follows no link out of its root. Folders that were not searched are reported as warnings.

Every start imports this module, so it imports little.
"""

from __future__ import annotations

import os
from stat import S_ISLNK, S_ISREG

from metier.errors import plural
from metier.generated_names import GENERATED_NAMES

__all__ = ["DEPTH", "DIRECTORIES", "SKIPPED_NAMES", "FolderSearch", "find_skill_folders"]

DEPTH = 6
DIRECTORIES = 2_000
SKIPPED_NAMES = GENERATED_NAMES
_NOT_SEARCHED = SKIPPED_NAMES | {".system"}
"""Codex unpacks its own skills into `.system`; they are for Codex alone."""


class FolderSearch:
    """The result of one search. `found` holds (folder, mtime_ns, size) of each SKILL.md, sorted by folder."""

    __slots__ = ("found", "invalid", "warnings")

    def __init__(self) -> None:
        self.found: list[tuple[str, int, int]] = []
        self.invalid: list[tuple[str, str, str]] = []
        """(folder, code, message) of each folder that looks like a skill but is not a valid one."""
        self.warnings: list[str] = []
        """Messages about folders that were not searched."""


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
            result.warnings.append(f"{root} cannot be searched: {_reason(error)}")
    result.found.sort()
    return result


def _search(root: str, depth: int, directories: int, result: FolderSearch) -> None:
    level = [root]
    searched = 0
    for _ in range(depth):
        below: list[str] = []
        for folder in level:
            if searched >= directories:
                result.warnings.append(
                    f"{root}: stopped after {directories:,} folders, at {folder}; raise skills.max_directories to see the rest"
                )
                return
            searched += 1
            try:
                _search_folder(folder, root, below, result)
            except OSError as error:
                if folder == root:
                    raise
                # A folder that was removed meanwhile is ignored. Any other error of one folder does not stop the search.
                if not isinstance(error, FileNotFoundError):
                    result.warnings.append(f"{folder} cannot be searched: {_reason(error)}")
        level = below
        if not level:
            return
    result.warnings.append(
        f"{root}: {plural(len(level), 'folder')} deeper than {depth} levels not searched, such as {min(level)}; "
        "raise skills.max_depth to see them"
    )


def _search_folder(folder: str, root: str, below: list[str], result: FolderSearch) -> None:
    found, stat = result.found, os.stat
    with os.scandir(folder) as children:
        for child in children:
            if child.is_dir(follow_symlinks=False):
                if child.name in _NOT_SEARCHED:
                    continue
                path = child.path
                # The hot path: nearly every child of a source folder is a skill, so look for its file first.
                try:
                    status = stat(f"{path}/SKILL.md", follow_symlinks=False)
                except OSError:
                    below.append(path)
                    continue
                if S_ISREG(status.st_mode):
                    found.append((path, status.st_mtime_ns, status.st_size))
                else:
                    _check_special_file(path, status.st_mode, result)
            elif child.is_symlink():
                _check_link(child.path, root, result)
            elif child.name == "SKILL.md":
                # Its stat failed, so the folder can be listed but not entered.
                result.invalid.append((folder, "SK015", "SKILL.md cannot be read: permission denied"))
            elif child.name.lower() == "skill.md" and folder != root:
                result.invalid.append((folder, "SK013", f"the file is named {child.name} instead of SKILL.md"))


def _is_skill(folder: str, result: FolderSearch) -> bool:
    """Returns True if the folder has a SKILL.md, and records it."""
    try:
        status = os.stat(f"{folder}/SKILL.md", follow_symlinks=False)
    except OSError:
        return False
    if S_ISREG(status.st_mode):
        result.found.append((folder, status.st_mtime_ns, status.st_size))
    else:
        _check_special_file(folder, status.st_mode, result)
    return True


def _check_special_file(folder: str, mode: int, result: FolderSearch) -> None:
    if not S_ISLNK(mode):
        result.invalid.append((folder, "SK002", "SKILL.md is not a file"))
        return
    target = os.path.realpath(f"{folder}/SKILL.md")
    try:
        status = os.stat(target)
    except OSError:
        result.invalid.append((folder, "SK015", "SKILL.md is a broken link"))
        return
    if not _inside(target, folder):
        result.invalid.append((folder, "SK017", f"SKILL.md is a link out of the skill, to {target}"))
    elif S_ISREG(status.st_mode):
        result.found.append((folder, status.st_mtime_ns, status.st_size))
    else:
        result.invalid.append((folder, "SK002", "SKILL.md is not a file"))


def _check_link(link: str, root: str, result: FolderSearch) -> None:
    """Reports a link to a skill outside the root. Links are not followed: a target inside the root is found anyway."""
    target = os.path.realpath(link)
    if not _inside(target, root) and os.path.exists(f"{target}/SKILL.md"):
        result.invalid.append((link, "SK017", f"it is a link out of the searched folder, to {target}"))


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
