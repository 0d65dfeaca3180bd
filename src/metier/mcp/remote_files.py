"""The files of a skill that another server has: fetched when they are needed, one by one, and verified at every read.

What was fetched is kept by its digest, outside of every folder in which skills are looked for, so it never turns into a
skill of this machine. Kept files are verified again too: the disk is no more trusted than the network.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator

from metier.errors import NotFoundError, UnavailableError
from metier.sources import open_regular, replace_bytes
from metier.spec import SKILL_FILE, FileEntry, resource_path, too_large_error

from .published_skill import MOST_BYTES, ListedFile
from .remote_skill import RemoteSkill

__all__ = ["Fetch", "RemoteSkillFiles"]

Fetch = Callable[[str, str], bytes]
"""The bytes of a URI, from the server of that name and no other."""


class RemoteSkillFiles:
    """The `Files` of a remote skill. Without `fetch` only what is kept can be read."""

    def __init__(self, skill: RemoteSkill, *, cache: str, fetch: Fetch | None) -> None:
        self.skill, self._cache, self._fetch = skill, cache, fetch

    @property
    def origin(self) -> str:
        return f"the MCP server {self.skill.server}"

    @property
    def digest(self) -> str:
        return self.skill.digest

    def read(self, path: str, *, limit: int) -> bytes:
        path = resource_path(path)
        listed = self._listed(path)
        if listed is not None and listed.size > limit:
            raise too_large_error(path, limit)
        kept = self._kept(listed)
        if kept is not None:
            return self.skill.verified(path, kept)
        if self._fetch is None:
            raise UnavailableError(
                f"{path!r} of {self.skill.label} has not been fetched yet", hint="activate the skill to fetch it"
            )
        data = self.skill.verified(path, self._fetch(self.skill.server, self.skill.uri_of(path)))
        if len(data) > min(limit, MOST_BYTES):
            raise too_large_error(path, limit)
        if listed is not None:
            replace_bytes(self._file(listed), data)
        return data

    def list(self) -> Iterator[FileEntry]:
        files = self.skill.files if self.skill.files is not None else {SKILL_FILE: ListedFile(0, "")}
        return iter([FileEntry(path=path, size=listed.size) for path, listed in sorted(files.items())])

    def folder(self) -> str:
        """A folder of this machine with exactly these files, each verified now."""
        if self.skill.files is None:
            raise UnavailableError(f"{self.skill.label} has no fixed files", hint="its scripts cannot be run", retryable=False)
        place = os.path.join(self._cache, "run", self.digest.rpartition(":")[2], self.skill.name)
        _remove_all_but(place, self.skill.files)
        for path, listed in self.skill.files.items():
            file = os.path.join(place, *path.split("/"))
            if _bytes(file, listed) is None:
                replace_bytes(file, self.read(path, limit=MOST_BYTES))
        return place

    def _listed(self, path: str) -> ListedFile | None:
        if self.skill.files is None:
            return None
        if path not in self.skill.files:
            raise NotFoundError(
                f"{self.skill.label} has no file {path!r}", hint="see its files with `metier skill resources NAME`"
            )
        return self.skill.files[path]

    def _kept(self, listed: ListedFile | None) -> bytes | None:
        if listed is None:
            return None
        return _bytes(self._file(listed), listed)

    def _file(self, listed: ListedFile) -> str:
        digest = listed.digest.rpartition(":")[2]
        return os.path.join(self._cache, "files", digest[:2], digest[2:])


def _bytes(file: str, listed: ListedFile) -> bytes | None:
    """Returns the cached content if it matches the listing; a damaged file counts as missing."""
    try:
        descriptor = open_regular(file)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        data = stream.read(listed.size + 1)
    return data if ListedFile.of(data) == listed else None


def _remove_all_but(folder: str, paths: Container[str]) -> None:
    for here, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(here, name))]
        for name in (*names, *links):
            file = os.path.join(here, name)
            if os.path.islink(file) or os.path.relpath(file, folder) not in paths:
                os.unlink(file)
