"""The differences between two versions of a skill."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff

from metier.archive import SKILL_LIMITS, file_hashes
from metier.errors import MetierError
from metier.spec import Files, load

from .transaction.plan import edited_files

__all__ = ["changed_files", "diff_text", "new_permissions"]

_LONGEST = 200_000
_MOST_LINES = 400


def changed_files(before: Files, after: Files) -> tuple[str, ...]:
    """`M path`, `A path`, `D path`."""
    return edited_files(file_hashes(before), file_hashes(after))


def diff_text(before: Files, after: Files, name: str) -> str:
    """Returns a unified diff of the text files; binary and very long files are only named."""
    return "\n".join(line for change in changed_files(before, after) for line in _file_diff(before, after, name, change))


def new_permissions(before: Files, after: Files) -> tuple[str, ...]:
    """Returns the tools that the new version asks for in addition, and its new and changed scripts."""
    found: list[str] = []
    try:
        old, new = load(before).manifest, load(after).manifest
    except MetierError:
        return ()
    more = [tool for tool in new.allowed_tools if tool not in old.allowed_tools]
    if more:
        found.append(f"asks for more tools: {' '.join(more)}")
    for change in changed_files(before, after):
        letter, _, path = change.partition(" ")
        if letter != "D" and path.startswith(("scripts/", "toolsets/")):
            found.append(f"{'new' if letter == 'A' else 'changed'} script: {path}")
    return tuple(found)


def _file_diff(before: Files, after: Files, name: str, change: str) -> Iterator[str]:
    letter, _, path = change.partition(" ")
    old, new = (_lines(files, path) for files in (before, after))
    if old is None or new is None:
        yield f"{'Binary or long file' if letter == 'M' else 'File'} {name}/{path} {_WORDS[letter]}"
        return
    lines = list(unified_diff(old, new, f"a/{name}/{path}", f"b/{name}/{path}", lineterm=""))
    if not lines:
        yield f"mode of {name}/{path} changed"
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield f"... {len(lines) - _MOST_LINES} more lines of {path}"


_WORDS = {"A": "added", "D": "removed", "M": "changed"}


def _lines(files: Files, path: str) -> list[str] | None:
    """Returns the lines of a text; an empty list if the file does not exist, None if it is binary or too long."""
    try:
        data = files.read(path, limit=SKILL_LIMITS.file)
    except MetierError:
        return []
    if len(data) > _LONGEST or b"\0" in data:
        return None
    try:
        return data.decode().splitlines()
    except UnicodeDecodeError:
        return None
