"""What changed between two versions of a skill, for a person who decides whether to take it."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff

from metier.archive import SKILL_LIMITS, file_hashes
from metier.errors import MetierError
from metier.spec import Files, load

from .transaction.plan import edited_files

__all__ = ["changed_files", "diff", "grown_powers"]

_LONGEST = 200_000
_MOST_LINES = 400


def changed_files(before: Files, after: Files) -> tuple[str, ...]:
    """`M path`, `A path`, `D path`."""
    return edited_files(file_hashes(before), file_hashes(after))


def diff(before: Files, after: Files, name: str) -> str:
    """A unified diff of every text file; of anything else, and of what is very long, only that it changed."""
    return "\n".join(line for change in changed_files(before, after) for line in _file_diff(before, after, name, change))


def grown_powers(before: Files, after: Files) -> tuple[str, ...]:
    """What the new version may do and the old one could not: a person should see this before any diff."""
    found: list[str] = []
    try:
        old, new = load(before).manifest, load(after).manifest
    except MetierError:
        return ()
    more = [tool for tool in new.allowed_tools if tool not in old.allowed_tools]
    if more:
        found.append(f"it asks for more tools: {' '.join(more)}")
    for change in changed_files(before, after):
        letter, _, path = change.partition(" ")
        if letter != "D" and path.startswith(("scripts/", "toolsets/")):
            found.append(f"{'a new' if letter == 'A' else 'a changed'} script: {path}")
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


_WORDS = {"A": "is new", "D": "is gone", "M": "changed"}


def _lines(files: Files, path: str) -> list[str] | None:
    """The lines of a text; none for a file that is not there, None for what no person reads."""
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
