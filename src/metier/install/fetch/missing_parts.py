"""Parts of a skill that a source names and does not hold: submodules and files in git's large file storage.

Metier never runs git's filters and never follows a submodule, so it says what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from metier.archive import Contents
from metier.errors import MetierError

if TYPE_CHECKING:
    from metier.spec import Files

    from .repository import FoundSkill
    from .tree import SkillTree

__all__ = ["large_file_pointers", "submodule_warnings"]

_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_LONGEST_POINTER = 1024
_MODULES = ".gitmodules"
_PATH = re.compile(r"^\s*path\s*=\s*(.+?)\s*$", re.MULTILINE)


def large_file_pointers(files: Files) -> tuple[str, ...]:
    """Returns the files that are only pointers to git's large file storage."""
    if not isinstance(files, Contents):
        return ()
    return tuple(
        member.path
        for member in files.members
        if len(member.data) <= _LONGEST_POINTER and member.data.startswith(_POINTER) and b"\noid sha256:" in member.data
    )


def submodule_warnings(tree: SkillTree, found: Iterable[FoundSkill], chosen: Iterable[FoundSkill]) -> Iterator[str]:
    """Yields a warning for each submodule in a chosen skill, or where a skill would be."""
    inside = {f"{one.path}/" if one.path else "": one.name for one in chosen}
    places = {one.path.rpartition("/")[0] for one in found if one.path}
    for path in sorted(_submodules(tree)):
        owner = next((name for prefix, name in inside.items() if path.startswith(prefix)), "")
        if owner:
            yield f"{owner}: {path} is a submodule, and its files are missing; install the skill from a checkout that has them"
        elif path.rpartition("/")[0] in places or "skills" in path.split("/")[:-1]:
            yield f"{path} is a submodule and was not fetched; if it holds skills, install them from its own repository"


def _submodules(tree: SkillTree) -> set[str]:
    declared: list[str] = []
    if _MODULES in tree.nodes:
        try:
            declared = _PATH.findall(tree.read(_MODULES, limit=1 << 20).decode("utf-8", "replace"))
        except MetierError:
            # An odd file is no reason to fail.
            pass
    folders = {path[:cut] for path in tree.nodes for cut in _slashes(path)} if declared else set()
    # An archive, or a checkout without its submodules, has only their names.
    return {path for path in declared if path not in folders} | {
        path for path, node in tree.nodes.items() if node.kind == "submodule"
    }


def _slashes(path: str) -> Iterator[int]:
    return (place for place, letter in enumerate(path) if letter == "/")
