"""Selects the files of a skill folder to publish: all but those that `.gitignore` or `.metierignore` excludes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from pathspec import GitIgnoreSpec

from metier.errors import UsageError
from metier.sources import DiskFiles, open_regular
from metier.spec import FileEntry, Files, OwnFiles, resource_path

__all__ = ["SelectedFiles", "select_files"]

_IGNORE_FILES = (".gitignore", ".metierignore")
_NEVER = (".gitignore", ".metierignore", ".gitattributes", ".DS_Store", "Thumbs.db")
_LARGEST = 256 * 1024


class SelectedFiles:
    """The `Files` of a folder without the excluded ones."""

    def __init__(self, files: Files, entries: Iterable[FileEntry], left_out: Iterable[str], links: Iterable[str] = ()) -> None:
        self._files = files
        self._entries = {entry.path: entry for entry in entries}
        self.left_out = tuple(left_out)
        self.links = tuple(links)
        """Links, which are never published: what they lead to may be another file there."""

    def read(self, path: str, *, limit: int) -> bytes:
        return self._files.read(resource_path(path), limit=limit)

    def list(self) -> Iterator[FileEntry]:
        return iter(self._entries.values())


def select_files(folder: str) -> SelectedFiles:
    files = DiskFiles(folder)
    rules = _rules(files.folder)
    kept, left_out = [], []
    for entry in OwnFiles(files).list():
        if os.path.basename(entry.path) in _NEVER:
            continue
        if _is_ignored(os.path.join(files.folder, entry.path), rules):
            left_out.append(entry.path)
        else:
            kept.append(entry)
    links = [link.path for link in files.links if not _is_ignored(os.path.join(files.folder, link.path), rules)]
    return SelectedFiles(files, kept, left_out, links)


def _rules(folder: str) -> list[tuple[str, GitIgnoreSpec]]:
    """Returns the ignore files that apply, the nearest first: below the skill, in it, and up to its repository's root."""
    below = [
        parent for parent, _, names in os.walk(folder) if parent != folder and any(name in names for name in _IGNORE_FILES)
    ]
    above = [folder]
    while not os.path.exists(os.path.join(above[-1], ".git")):
        parent = os.path.dirname(above[-1])
        if parent == above[-1]:
            # Outside a repository, ignore files above the skill do not apply.
            above = above[:1]
            break
        above.append(parent)
    folders = [*sorted(below, key=len, reverse=True), *above]
    return [(place, spec) for place in folders for name in reversed(_IGNORE_FILES) if (spec := _spec(place, name))]


def _spec(folder: str, name: str) -> GitIgnoreSpec | None:
    file = os.path.join(folder, name)
    if os.path.isdir(file):
        return None
    try:
        with os.fdopen(open_regular(file), encoding="utf-8", errors="replace") as stream:
            return GitIgnoreSpec.from_lines(stream.read(_LARGEST).splitlines())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise UsageError(f"{file} contains an invalid pattern: {error}", hint="correct that line") from None


def _is_ignored(path: str, rules: list[tuple[str, GitIgnoreSpec]]) -> bool:
    """Applies the nearest ignore file that mentions the path, as git does."""
    for folder, spec in rules:
        if path.startswith(f"{folder}{os.sep}"):
            included = spec.check_file(os.path.relpath(path, folder).replace(os.sep, "/")).include
            if included is not None:
                return included
    return False
