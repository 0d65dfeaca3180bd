"""A snapshot: the skills that one agent can see in one project, and their index, in one file that a process maps.

The file begins with a line of JSON, padded so that the index behind it is aligned. It is only a cache: a file that cannot be
read is the same as none, and the next refresh writes it again.
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from metier.sources import open_regular, replace_bytes

__all__ = ["RouteSkill", "RouteSnapshot", "open_snapshot", "snapshot_file", "write_snapshot"]

_FORMAT = 1
_ALIGN = 64


class RouteSkill:
    """A skill as the selector reads it: nothing of it is read from disk."""

    __slots__ = ("description", "digest", "id", "name", "triggers")

    def __init__(self, folder: str, name: str, digest: str, triggers: Mapping[str, Any] | None = None) -> None:
        self.id = folder
        self.name = name
        self.digest = digest
        self.triggers = triggers
        self.description = ""

    @property
    def file(self) -> str:
        return f"{self.id}/SKILL.md"


class RouteSnapshot:
    __slots__ = ("index", "is_silent", "skills", "state", "watched")

    def __init__(
        self, skills: list[RouteSkill], index: memoryview | bytes, *, state: str, is_silent: bool, watched: Mapping[str, str]
    ) -> None:
        self.skills = skills
        self.index = index
        self.state = state
        """Changes with the library and the settings that it was made from."""
        self.is_silent = is_silent
        """Returns True if the project or the user has switched the router off here."""
        self.watched = dict(watched)
        """Settings files, each with its signature: a change there counts at once."""


def snapshot_file(cache: str, host: str, folder: str) -> str:
    """Returns the path of the snapshot of one agent in one folder; an empty folder stands for the user's own skills."""
    return os.path.join(cache, f"{host}-{zlib.crc32(folder.encode('utf-8', 'surrogateescape')):08x}-{len(folder)}.routes")


def open_snapshot(file: str, program: str) -> RouteSnapshot | None:
    """Opens a snapshot that was written by this version of metier; None if there is none."""
    try:
        with os.fdopen(open_regular(file), "rb") as stream:
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        end = data.find(b"\n")
        head = json.loads(data[:end])
        if head["format"] != _FORMAT or head["program"] != program:
            return None
        skills = [RouteSkill(*row) for row in head["skills"]]
        index = memoryview(data)[end + 1 :]
        return RouteSnapshot(skills, index, state=head["state"], is_silent=head["silent"], watched=head["watched"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_snapshot(file: str, snapshot: RouteSnapshot, program: str) -> None:
    rows: Iterable[list[Any]] = ([skill.id, skill.name, skill.digest, skill.triggers] for skill in snapshot.skills)
    head = {
        "format": _FORMAT, "program": program, "state": snapshot.state, "silent": snapshot.is_silent,
        "watched": snapshot.watched, "skills": list(rows),
    }  # fmt: skip
    line = json.dumps(head).encode()
    line += b" " * (-(len(line) + 1) % _ALIGN) + b"\n"
    replace_bytes(file, line + bytes(snapshot.index))
