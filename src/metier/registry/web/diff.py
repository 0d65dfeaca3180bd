"""The differences between two releases, file by file, as table rows.

Sizes are limited: comparing two long texts takes quadratic time, and any user can publish them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher

from metier.values import dataclass, field

__all__ = ["DiffRow", "FileDiff", "diff_files"]

_LARGEST = 256 * 1024
_MOST_LINES = 4_000
_MOST_FILES = 100
_CONTEXT_LINES = 3


@dataclass(frozen=True, slots=True)
class DiffRow:
    kind: str
    """`same`, `added`, `removed`, or `left-out` for equal lines that are not shown."""
    text: str
    old: int | None = None
    new: int | None = None


@dataclass(frozen=True, slots=True)
class FileDiff:
    path: str
    status: str
    """`added`, `removed` or `changed`."""
    rows: list[DiffRow] = field(default_factory=list)
    note: str = ""
    """The reason if there are no rows."""


def diff_files(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> list[FileDiff]:
    """Returns the files that differ, sorted by path. The first hundred are compared line by line."""
    differing = sorted(path for path in {*old, *new} if old.get(path) != new.get(path))
    return [_change(path, old.get(path), new.get(path), place < _MOST_FILES) for place, path in enumerate(differing)]


def _change(path: str, old: bytes | None, new: bytes | None, compare: bool) -> FileDiff:
    status = "added" if old is None else "removed" if new is None else "changed"
    before, after = _lines(old), _lines(new)
    if before is None or after is None:
        return FileDiff(
            path, status, note=f"Not shown: not a text file, or too large ({len(old or b''):,} to {len(new or b''):,} bytes)."
        )
    if not compare:
        return FileDiff(path, status, note="Not shown: too many files differ.")
    return FileDiff(path, status, rows=list(_rows(before, after)))


def _lines(data: bytes | None) -> list[str] | None:
    """Returns the lines, or None for a binary or too large file."""
    if data is None:
        return []
    if len(data) > _LARGEST or b"\0" in data:
        return None
    try:
        lines = data.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        return None
    return lines if len(lines) <= _MOST_LINES else None


def _rows(old: list[str], new: list[str]) -> Iterator[DiffRow]:
    seen = 0
    for group in SequenceMatcher(None, old, new, autojunk=True).get_grouped_opcodes(_CONTEXT_LINES):
        if group[0][1] > seen:
            yield DiffRow("left-out", f"{group[0][1] - seen:,} unchanged lines")
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                for step in range(end - start):
                    yield DiffRow("same", old[start + step], start + step + 1, new_start + step + 1)
                continue
            for place in range(start, end):
                yield DiffRow("removed", old[place], old=place + 1)
            for place in range(new_start, new_end):
                yield DiffRow("added", new[place], new=place + 1)
        seen = group[-1][2]
    if seen < len(old):
        yield DiffRow("left-out", f"{len(old) - seen:,} unchanged lines")
