"""The files of a skill, wherever they are: on disk, in an archive, in memory.

There is one path check. Every path that a model, an author or an archive names passes `resource_path` before any
implementation sees it, so disk, archive and memory agree on the meaning of `..`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, runtime_checkable

from metier.errors import NotFoundError, RefusedError
from metier.generated_names import is_generated
from metier.lazy import lazy_pattern
from metier.values import dataclass

__all__ = ["SKILL_FILE", "FileEntry", "Files", "Link", "LinkedFiles", "MemoryFiles", "OwnFiles", "resource_path"]

SKILL_FILE = "SKILL.md"
_LONGEST_PATH = 1024
# Half a surrogate pair cannot be encoded as UTF-8, so no file has such a name.
_FORBIDDEN = lazy_pattern(r"[\x00-\x1f\x7f\\\ud800-\udfff]")
_DRIVE = lazy_pattern(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    path: str
    """Relative to the skill's folder, with forward slashes."""
    size: int
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    path: str
    target: str
    """Relative to the link's own folder, as in a file system."""


@runtime_checkable
class Files(Protocol):
    """Access to the files of a skill. Paths have passed `resource_path`; an implementation still never leaves its root."""

    def read(self, path: str, *, limit: int) -> bytes:
        """Returns the bytes of one file.

        Raises NotFoundError if there is none, and RefusedError if it is a link that leaves the folder, is not a file, or is
        larger than `limit`.
        """

    def list(self) -> Iterable[FileEntry]:
        """Returns every ordinary file, sorted by path."""


@runtime_checkable
class LinkedFiles(Files, Protocol):
    """Files of which some can be read under a second name. The listing has only their own names."""

    @property
    def links(self) -> tuple[Link, ...]: ...


class OwnFiles:
    """The files of the author, for listings and copies: all but those that tools write, such as `node_modules`."""

    __slots__ = ("_files",)

    def __init__(self, files: Files) -> None:
        self._files = files

    def read(self, path: str, *, limit: int) -> bytes:
        return self._files.read(path, limit=limit)

    def list(self) -> Iterator[FileEntry]:
        return (entry for entry in self._files.list() if not is_generated(entry.path))


def resource_path(text: str) -> str:
    """Returns a normalized path inside the skill. Raises RefusedError if it is absolute, leaves the skill or is ambiguous."""
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
    """Files as a mapping from path to bytes: for tests, and for skills that a program makes."""

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
    """Returns the error for a file above its limit, for every implementation of Files."""
    return RefusedError(
        f"{path!r} is larger than {limit:,} bytes", rule="resource-size", hint="read a part of it, or raise the limit"
    )


def _refused(text: str, why: str) -> RefusedError:
    shown = text if len(text) <= 80 else text[:79] + "…"
    return RefusedError(
        f"{shown!r} {why}",
        rule="path-check",
        hint="use a path relative to the skill's folder, such as references/guide.md",
    )
