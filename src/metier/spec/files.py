"""The files of a skill, wherever they are: on disk, in an archive, in memory.

There is one gate for paths. Whatever a model, an author or an archive names goes through `resource_path` before any
implementation sees it, so disk, zip and memory cannot disagree on what `..` means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

from metier.errors import NotFoundError, RefusedError
from metier.values import dataclass

__all__ = ["SKILL_FILE", "FileEntry", "Files", "MemoryFiles", "resource_path"]

SKILL_FILE = "SKILL.md"
_LONGEST_PATH = 1024
# Half a surrogate pair cannot be written as UTF-8, so no file system here could be asked for it.
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    path: str
    """Relative to the skill's folder, with forward slashes."""
    size: int
    executable: bool = False


@runtime_checkable
class Files(Protocol):
    """What a skill needs of its folder. Paths have passed the gate; an implementation still never leaves its root."""

    def read(self, path: str, *, limit: int) -> bytes:
        """All bytes of one file. NotFound if there is none, Refused if it is a link out, no file, or over `limit`."""

    def list(self) -> Iterable[FileEntry]:
        """Every ordinary file, sorted by path."""


def resource_path(text: str) -> str:
    """`text` as a clean path inside the skill, or Refused: never absolute, never upward, never ambiguous."""
    if not text or len(text) > _LONGEST_PATH or _FORBIDDEN.search(text):
        raise _refused(text, "is not a plain relative path")
    if text.startswith(("/", "~")) or _DRIVE.match(text):
        raise _refused(text, "is absolute")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise _refused(text, "leaves the skill")
    if not parts:
        raise _refused(text, "names no file")
    return "/".join(parts)


class MemoryFiles:
    """A skill's files as a mapping: for tests, archives before they are written, and skills made by programs."""

    __slots__ = ("_contents",)

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._contents = {resource_path(path): bytes(data) for path, data in contents.items()}

    def read(self, path: str, *, limit: int) -> bytes:
        path = resource_path(path)
        if path not in self._contents:
            raise NotFoundError(f"the skill has no file {path!r}", hint="list its files with `metier skill show NAME --files`")
        data = self._contents[path]
        if len(data) > limit:
            raise too_large_error(path, limit)
        return data

    def list(self) -> Iterable[FileEntry]:
        return [FileEntry(path=path, size=len(data)) for path, data in sorted(self._contents.items())]


def too_large_error(path: str, limit: int) -> RefusedError:
    """The one sentence for a file over its cap, for every implementation of Files."""
    return RefusedError(
        f"{path!r} is larger than {limit:,} bytes", rule="resource-size", hint="read a part of it, or raise the limit"
    )


def _refused(text: str, why: str) -> RefusedError:
    shown = text if len(text) <= 80 else text[:79] + "…"
    return RefusedError(
        f"{shown!r} {why}",
        rule="path-gate",
        hint="use a path relative to the skill's folder, such as references/guide.md",
    )
