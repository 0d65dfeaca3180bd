"""Skills that are on this disk already: a folder, or an archive."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from functools import cached_property

from metier.archive import REPOSITORY_LIMITS, SKILL_LIMITS, Contents, Limits, Link, Member, unpack, unwrap
from metier.archive.limits import refused
from metier.errors import NotFound, Refused, SkillNotFound, Unavailable
from metier.sources.disk import DiskFiles
from metier.sources.walk import SKIPPED_NAMES
from metier.spec import SKILL_FILE

from .fetched import Fetched, Origin
from .fetching import Access, Job
from .kinds import ArchiveFile, LocalName, LocalPath
from .tree import ContentsTree, Node

__all__ = ["FolderTree", "fetch_archive_file", "fetch_name", "fetch_path", "read_folder"]

_MOST_FILES = 200_000
_LARGEST_ARCHIVE = 256 * 1024 * 1024


def fetch_name(ref: LocalName, job: Job) -> Fetched:
    for place in job.access.places:
        folder = os.path.join(place, ref.name)
        if os.path.isfile(os.path.join(folder, SKILL_FILE)):
            return _fetch_folder(folder, job)
    known = [name for place in job.access.places if os.path.isdir(place) for name in os.listdir(place)]
    raise SkillNotFound(ref.name, known=known)


def fetch_path(ref: LocalPath, job: Job) -> Fetched:
    path = expanded(ref.path, job.access)
    if os.path.isfile(path):
        if os.path.basename(path) == SKILL_FILE:
            return _fetch_folder(os.path.dirname(path), job)
        return fetch_archive_file(ArchiveFile(ref.path), job)
    if not os.path.isdir(path):
        raise SkillNotFound(ref.path, hint=f"there is nothing at {path}")
    return _fetch_folder(path, job)


def fetch_archive_file(ref: ArchiveFile, job: Job) -> Fetched:
    path = expanded(ref.path, job.access)
    try:
        with open(path, "rb") as stream:
            data = stream.read(_LARGEST_ARCHIVE + 1)
    except IsADirectoryError:
        return _fetch_folder(path, job)
    except FileNotFoundError:
        raise SkillNotFound(ref.path, hint=f"there is no file {path}") from None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {(error.strerror or 'error').lower()}", hint="check its permissions",
                          retryable=False) from error  # fmt: skip
    if len(data) > _LARGEST_ARCHIVE:
        raise Refused(
            f"{path} is larger than {_LARGEST_ARCHIVE:,} bytes", rule="download-size", hint="no skill needs that much"
        )
    return job.from_tree(opened(data), Origin(kind="archive", url=path))


def opened(data: bytes) -> ContentsTree:
    """An archive of one skill or of many."""
    return ContentsTree(unwrap(unpack(data, limits=REPOSITORY_LIMITS), limits=REPOSITORY_LIMITS))


def expanded(path: str, access: Access) -> str:
    home = access.environment.get("HOME")
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    return os.path.normpath(os.path.join(access.folder, os.path.expanduser(path)))


def read_folder(folder: str, *, limits: Limits = SKILL_LIMITS) -> Contents:
    """A skill's folder as a value: what `pack` packs and what an installed skill is compared by."""
    return FolderTree(folder).contents("", limits=limits)


def _fetch_folder(path: str, job: Job) -> Fetched:
    return job.from_tree(FolderTree(path), Origin(kind="path", url=os.path.realpath(path)))


class FolderTree:
    """A folder on disk as a Tree. No link is followed on the way down, and none that leaves is taken along."""

    def __init__(self, folder: str) -> None:
        self._files = DiskFiles(folder)

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        nodes: dict[str, Node] = {}
        pending = [""]
        while pending:
            prefix = pending.pop()
            try:
                with os.scandir(os.path.join(self._files.folder, prefix)) as children:
                    for child in children:
                        if child.name in SKIPPED_NAMES:
                            continue
                        if child.is_dir(follow_symlinks=False):
                            pending.append(f"{prefix}{child.name}/")
                        else:
                            nodes[prefix + child.name] = Node(kind=_kind(child.stat(follow_symlinks=False).st_mode))
            except FileNotFoundError:
                continue
            except OSError as error:
                raise Unavailable(f"{error.filename} cannot be read: {(error.strerror or 'error').lower()}",
                                  hint="check its permissions", retryable=False) from error  # fmt: skip
            if len(nodes) > _MOST_FILES:
                raise Refused(f"{self._files.folder} has more than {_MOST_FILES:,} files", rule="repository-size",
                              hint="name the skill's own folder")  # fmt: skip
        return dict(sorted(nodes.items()))

    def prefetch(self, paths: Iterable[str]) -> None:
        """It is all here."""

    def read(self, path: str, *, limit: int) -> bytes:
        return self._files.read(path, limit=limit)

    def contents(self, folder: str, *, leave_out: Iterable[str] = (), limits: Limits = SKILL_LIMITS) -> Contents:
        prefix, unwanted = f"{folder}/" if folder else "", frozenset(leave_out)
        wanted = [
            path for path in self.nodes if path.startswith(prefix) and unwanted.isdisjoint(path[len(prefix) :].split("/"))
        ]
        limits.check_count(len(wanted))
        members: list[Member] = []
        links: list[Link] = []
        total = 0
        for path in wanted:
            kind, inner = self.nodes[path].kind, path[len(prefix) :]
            if kind == "special":
                raise refused("special", f"{path!r} is a device, pipe or socket")
            if kind == "link":
                links.append(Link(inner, self._target(path)))
                continue
            data = self._files.read(path, limit=limits.file)
            total += len(data)
            limits.check_total(total)
            members.append(Member(inner, data, kind == "executable"))
        return Contents(members, links, limits=limits)

    def _target(self, path: str) -> str:
        try:
            return os.readlink(os.path.join(self._files.folder, path))
        except OSError as error:
            raise NotFound(f"{path!r} changed while it was read", hint="try again") from error


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "link"
    if not stat.S_ISREG(mode):
        return "special"
    return "executable" if mode & 0o111 else "file"
