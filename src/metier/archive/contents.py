"""All files of a skill in memory, with execute bits, links and times.

A Contents that exists is safe to write: every name is portable, no two are one file on some system, no file is also a
folder, and every link ends at a file or folder inside. Archives, git trees and folders are all
converted to it first, so one place checks them, as a whole, before a byte is written.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from metier.errors import NotFoundError
from metier.spec import FileEntry, Files, Link, resource_path, too_large_error
from metier.values import dataclass, field, replace

from .limits import REPOSITORY_LIMITS, SKILL_LIMITS, ArchiveLimits, archive_error
from .portable_names import collision_key, portable_path

__all__ = ["EXECUTABLE", "LINK", "MAX_LINK_TARGET", "PLAIN", "Contents", "Link", "Member", "read_contents"]

PLAIN, EXECUTABLE, LINK = "100644", "100755", "120000"

MAX_LINK_TARGET = 1024
_MOST_HOPS = 8
_DEEPEST = 64
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class Member:
    path: str
    data: bytes
    executable: bool = False
    time: int | None = field(default=None, compare=False)
    """Last change in ns since 1970, if the source has it. Not part of the skill's identity."""


class Contents:
    """The files of a skill that is not on disk yet; implements Files."""

    __slots__ = ("_hashes", "_links", "_members")

    def __init__(
        self,
        members: Iterable[Member],
        links: Iterable[Link] = (),
        *,
        folders: Iterable[str] = (),
        limits: ArchiveLimits = SKILL_LIMITS,
    ) -> None:
        """Checks everything. `folders` are those that an archive names; they are not kept, but their names are checked."""
        self._members: dict[str, Member] = {}
        self._links: dict[str, str] = {}
        self._hashes: dict[str, tuple[str, str]] | None = None
        keys: dict[str, str] = {}
        for member in members:
            path = _claim(member.path, keys, limits)
            limits.check_file(path, len(member.data))
            self._members[path] = member if path == member.path else replace(member, path=path)
        for link in links:
            self._links[_claim(link.path, keys, limits)] = unicodedata.normalize("NFC", link.target)
        named = [portable_path(folder, limits) for folder in folders]
        limits.check_count(len(keys) + len(named))
        limits.check_total(sum(len(member.data) for member in self._members.values()))
        inside = self._folders(keys, named)
        for path, target in self._links.items():
            self._check_link(path, target, inside)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Contents):
            return NotImplemented
        return self._members == other._members and self._links == other._links

    __hash__ = None  # type: ignore[assignment]  # contents are not hashable

    def __repr__(self) -> str:
        return f"Contents({len(self._members)} files, {len(self._links)} links)"

    @property
    def members(self) -> tuple[Member, ...]:
        return tuple(member for _, member in sorted(self._members.items()))

    @property
    def links(self) -> tuple[Link, ...]:
        return tuple(Link(path, target) for path, target in sorted(self._links.items()))

    @property
    def hashes(self) -> Mapping[str, tuple[str, str]]:
        """Mode and hex SHA-256 of every file and link, sorted by path as bytes; computed once."""
        if self._hashes is None:
            found = {
                path: (EXECUTABLE if member.executable else PLAIN, hashlib.sha256(member.data).hexdigest())
                for path, member in self._members.items()
            }
            found |= {path: (LINK, hashlib.sha256(target.encode()).hexdigest()) for path, target in self._links.items()}
            self._hashes = dict(sorted(found.items(), key=lambda item: item[0].encode()))
        return self._hashes

    @property
    def size(self) -> int:
        return sum(len(member.data) for member in self._members.values())

    def read(self, path: str, *, limit: int) -> bytes:
        member = self._members.get(self._follow_links(resource_path(path)))
        if member is None:
            raise NotFoundError(f"the skill has no file {path!r}", hint="list its files with `metier skill show NAME --files`")
        if len(member.data) > limit:
            raise too_large_error(path, limit)
        return member.data

    def list(self) -> Iterator[FileEntry]:
        return iter(
            [FileEntry(path=path, size=len(member.data), executable=member.executable)
             for path, member in sorted(self._members.items())]
        )  # fmt: skip

    def below(self, folder: str, *, limits: ArchiveLimits = SKILL_LIMITS) -> Contents:
        """Returns the contents of one folder. Raises RefusedError for a link from it to the rest of the tree."""
        prefix = f"{folder}/" if folder else ""
        cut = len(prefix)
        return Contents(
            (replace(member, path=path[cut:]) for path, member in self._members.items() if path.startswith(prefix)),
            (Link(path[cut:], target) for path, target in self._links.items() if path.startswith(prefix)),
            limits=limits,
        )  # fmt: skip

    def without(self, names: Iterable[str]) -> Contents:
        """Returns the contents without files and folders of these names."""
        unwanted = frozenset(names)

        def is_kept(path: str) -> bool:
            return unwanted.isdisjoint(path.split("/"))

        # The whole has passed its limits, so a part of it does too.
        return Contents(filter(lambda member: is_kept(member.path), self._members.values()),
                        filter(lambda link: is_kept(link.path), self.links), limits=REPOSITORY_LIMITS)  # fmt: skip

    def _folders(self, keys: Mapping[str, str], named: Iterable[str]) -> frozenset[str]:
        """Returns every folder. Refuses a file or link in the place of a folder, and two spellings of one folder."""
        spelling: dict[str, str] = {}
        for path in (*self._members, *self._links, *(f"{folder}/" for folder in named)):
            parent = path.rpartition("/")[0]
            while parent and spelling.get(key := collision_key(parent)) != parent:
                if key in spelling:
                    raise archive_error("collision", f"{spelling[key]!r} and {parent!r} are one folder on some systems")
                if key in keys:
                    raise archive_error(
                        "collision", f"{keys[key]!r} is a file or link, and {path!r} is or is in a folder of that name"
                    )
                spelling[key] = parent
                parent = parent.rpartition("/")[0]
        return frozenset(spelling.values())

    def _check_link(self, path: str, target: str, folders: frozenset[str]) -> None:
        here = path
        for _ in range(_MOST_HOPS):
            inside = link_destination(here, self._links[here])
            if inside is None or self._passes_a_link(here):
                raise archive_error(
                    "link", f"{path!r} is a link out of the skill, to {target!r}", hint="copy the file into the skill"
                )
            if inside in self._members or inside in folders or inside == "":
                # A link to a folder around it is a loop that some programs follow forever.
                if inside == "" or path.startswith(f"{inside}/"):
                    raise archive_error("link", f"{path!r} is a link to a folder around it")
                return
            if inside not in self._links:
                raise archive_error("link", f"{path!r} is a link to nothing: {target!r}")
            here = inside
        raise archive_error("link", f"{path!r} goes through too many links")

    def _passes_a_link(self, path: str) -> bool:
        """Returns whether the way to a link's target goes through another link, where `..` means something else on disk."""
        parts = path.split("/")[:-1]
        for part in self._links[path].split("/")[:-1]:
            parts = parts[:-1] if part == ".." else parts if part in ("", ".") else [*parts, part]
            if "/".join(parts) in self._links:
                return True
        return False

    def _follow_links(self, path: str) -> str:
        """Returns the path with every link followed. Links are checked before, so this ends."""
        for _ in range(_MOST_HOPS):
            # The path and the folders above it, not all links: an archive may have tens of thousands.
            ends = [len(path), *(match.start() for match in re.finditer("/", path))] if self._links else []
            link = next((path[:end] for end in ends if path[:end] in self._links), None)
            if link is None:
                return path
            path = (link_destination(link, self._links[link]) or "") + path[len(link) :]
        return path


def read_contents(files: Files) -> Contents:
    """Returns the same files in memory."""
    return Contents(
        Member(entry.path, files.read(entry.path, limit=SKILL_LIMITS.file), entry.executable) for entry in files.list()
    )


def link_destination(link: str, target: str) -> str | None:
    """Returns the destination of a link from the top of the skill; None if it is outside."""
    if not target or len(target) > MAX_LINK_TARGET or target.startswith(("/", "~")) or "\\" in target or _DRIVE.match(target):
        return None
    if not target.isprintable():
        return None
    parts = link.split("/")[:-1]
    for part in target.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
        if len(parts) > _DEEPEST:
            # No folder is that deep, so on the disk the link leads to nothing.
            return None
    return "/".join(parts)


def _claim(path: str, keys: dict[str, str], limits: ArchiveLimits) -> str:
    path = portable_path(path, limits)
    key = collision_key(path)
    if key in keys:
        if keys[key] == path:
            raise archive_error("collision", f"{path!r} occurs twice")
        raise archive_error("collision", f"{keys[key]!r} and {path!r} are one file on some systems")
    if len(keys) > limits.files:
        limits.check_count(len(keys) + 1)
    keys[key] = path
    return path
