"""The differences between two releases, file by file, as a page fragment.

Sizes are limited: comparing two long texts takes quadratic time, and any user can publish them. It still runs in a process
with a budget, like everything that is made from the files of a release.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from metier.errors import plural
from metier.values import dataclass, field

from .templates import render_fragment

__all__ = ["DiffRow", "FileDiff", "diff_files", "diff_html"]

_LARGEST = 256 * 1024
_MOST_LINES = 4_000
_MOST_FILES = 100
_MOST_LISTED = 500
_MOST_ROWS = 4_000
_MOST_TEXT = 512 * 1024
_CONTEXT_LINES = 3
_FULL = "Not shown: the page has reached its limit."


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


def diff_html(old: bytes, new: bytes, paths: Sequence[str]) -> str:
    """Compares these files of two archives, and returns the comparison as HTML."""
    with zipfile.ZipFile(io.BytesIO(old)) as before, zipfile.ZipFile(io.BytesIO(new)) as after:
        changes = diff_files(paths, lambda path: _read(before, path), lambda path: _read(after, path))
        return render_fragment("diff_files.html", changes=list(changes))


def diff_files(
    paths: Iterable[str], old: Callable[[str], bytes | None], new: Callable[[str], bytes | None]
) -> Iterator[FileDiff]:
    """Yields the comparison of each file. Files and rows beyond the limits of one page are named only."""
    rows, text, is_full = 0, 0, False
    for place, path in enumerate(paths):
        if place >= _MOST_LISTED:
            yield FileDiff("…", "changed", note="More files differ; download both archives to compare them.")
            return
        before, after = old(path), new(path)
        if is_full or place >= _MOST_FILES:
            yield FileDiff(path, _status(before, after), note=_FULL)
            continue
        change = _change(path, before, after)
        rows += len(change.rows)
        text += sum(len(row.text) for row in change.rows)
        is_full = rows > _MOST_ROWS or text > _MOST_TEXT
        yield FileDiff(path, change.status, note=_FULL) if is_full else change


def _read(archive: zipfile.ZipFile, path: str) -> bytes | None:
    """Returns a file; of a large one only so much that it is seen to be too large."""
    try:
        with archive.open(path) as stream:
            return stream.read(_LARGEST + 1)
    except KeyError:
        return None


def _status(old: bytes | None, new: bytes | None) -> str:
    return "added" if old is None else "removed" if new is None else "changed"


def _change(path: str, old: bytes | None, new: bytes | None) -> FileDiff:
    status = _status(old, new)
    before, after = _lines(old), _lines(new)
    if before is None or after is None:
        return FileDiff(path, status, note=f"Not shown: not a text file, or larger than {_LARGEST:,} bytes.")
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
            yield DiffRow("left-out", f"{plural(group[0][1] - seen, 'unchanged line')}")
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
        yield DiffRow("left-out", f"{plural(len(old) - seen, 'unchanged line')}")
