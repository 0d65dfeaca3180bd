"""Skills that are on this disk already: a folder, or an archive."""

from __future__ import annotations

import errno
import os
import stat
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import groupby

from metier.archive import REPOSITORY_LIMITS, SKILL_LIMITS, ArchiveLimits, Contents, Link, Member, archive_error
from metier.errors import MetierError, NotFoundError, RefusedError, SkillNotFoundError, UnavailableError
from metier.install.refs.ref_types import ArchiveFile, LocalName, LocalPath
from metier.sources import SKIPPED_NAMES, DiskFiles
from metier.spec import SKILL_FILE

from .job import Access, FetchJob
from .results import Fetched, Origin
from .tree import ContentsTree, Node

__all__ = ["FolderTree", "fetch_archive_file", "fetch_name", "fetch_path", "read_folder"]

_MOST_FILES = 200_000
_LARGEST_ARCHIVE = 256 * 1024 * 1024
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a pipe that nobody writes to must not hang.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PLAIN, _LINK, _SPECIAL = Node(kind="file"), Node(kind="link"), Node(kind="special")


def fetch_name(ref: LocalName, job: FetchJob) -> Fetched:
    for place in job.access.places:
        folder = os.path.join(place, ref.name)
        if os.path.isfile(os.path.join(folder, SKILL_FILE)):
            return _fetch_folder(folder, job)
    known = [name for place in job.access.places if os.path.isdir(place) for name in os.listdir(place)]
    raise SkillNotFoundError(ref.name, known=known)


def fetch_path(ref: LocalPath, job: FetchJob) -> Fetched:
    path = expanded(ref.path, job.access)
    if os.path.isfile(path):
        if os.path.basename(path) == SKILL_FILE:
            return _fetch_folder(os.path.dirname(path), job)
        return fetch_archive_file(ArchiveFile(ref.path), job)
    if not os.path.isdir(path):
        raise SkillNotFoundError(ref.path, hint=f"there is nothing at {path}")
    return _fetch_folder(path, job)


def fetch_archive_file(ref: ArchiveFile, job: FetchJob) -> Fetched:
    path = expanded(ref.path, job.access)
    try:
        with open(path, "rb") as stream:
            data = stream.read(_LARGEST_ARCHIVE + 1)
    except IsADirectoryError:
        return _fetch_folder(path, job)
    except FileNotFoundError:
        raise SkillNotFoundError(ref.path, hint=f"there is no file {path}") from None
    except OSError as error:
        raise UnavailableError(f"{path} cannot be read: {(error.strerror or 'error').lower()}", hint="check its permissions",
                          retryable=False) from error  # fmt: skip
    if len(data) > _LARGEST_ARCHIVE:
        raise RefusedError(
            f"{path} is larger than {_LARGEST_ARCHIVE:,} bytes", rule="download-size", hint="no skill needs that much"
        )
    return job.from_tree(opened(data), Origin(kind="archive", url=path))


def opened(data: bytes) -> ContentsTree:
    """An archive of one skill or of many."""
    # Imported here: a folder is no archive.
    from metier.archive import strip_top_folder, unpack

    return ContentsTree(strip_top_folder(unpack(data, limits=REPOSITORY_LIMITS), limits=REPOSITORY_LIMITS))


def expanded(path: str, access: Access) -> str:
    home = access.environment.get("HOME")
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    return os.path.normpath(os.path.join(access.folder, os.path.expanduser(path)))


def read_folder(folder: str, *, limits: ArchiveLimits = SKILL_LIMITS) -> Contents:
    """A skill's folder as a value: what `pack` packs and what an installed skill is compared by."""
    return FolderTree(folder).contents("", limits=limits)


def _fetch_folder(path: str, job: FetchJob) -> Fetched:
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
                            nodes[prefix + child.name] = _node(child)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise UnavailableError(f"{error.filename} cannot be read: {(error.strerror or 'error').lower()}",
                                  hint="check its permissions", retryable=False) from error  # fmt: skip
            if len(nodes) > _MOST_FILES:
                raise RefusedError(f"{self._files.folder} has more than {_MOST_FILES:,} files", rule="repository-size",
                              hint="name the skill's own folder")  # fmt: skip
        return dict(sorted(nodes.items()))

    @cached_property
    def _paths(self) -> list[str]:
        return list(self.nodes)

    def _below(self, folder: str) -> list[str]:
        """All paths in a folder. They are sorted, so it is looked up and not searched, however many skills ask."""
        # A slash comes right before zero.
        return (
            self._paths[bisect_left(self._paths, f"{folder}/") : bisect_left(self._paths, f"{folder}0")]
            if folder
            else self._paths
        )

    def prefetch(self, paths: Iterable[str]) -> None:
        """It is all here."""

    def read(self, path: str, *, limit: int) -> bytes:
        return self._files.read(path, limit=limit)

    def contents(self, folder: str, *, leave_out: Iterable[str] = (), limits: ArchiveLimits = SKILL_LIMITS) -> Contents:
        prefix, unwanted = f"{folder}/" if folder else "", frozenset(leave_out)
        wanted = [path for path in self._below(folder) if unwanted.isdisjoint(path[len(prefix) :].split("/"))]
        limits.check_count(len(wanted))
        members: list[Member] = []
        links: list[Link] = []
        total = 0
        # By folder: each is opened once, however many files it has.
        for above, paths in groupby(sorted(wanted, key=_above), key=_above):
            here = self._opened(above)
            try:
                for path in paths:
                    kind, name, inner = self.nodes[path].kind, path.rpartition("/")[2], path[len(prefix) :]
                    if kind == "special":
                        raise archive_error("special", f"{path!r} is a device, pipe or socket")
                    if kind == "link":
                        links.append(Link(inner, os.readlink(name, dir_fd=here)))
                        continue
                    member = _member(inner, name, here, limits)
                    total += len(member.data)
                    limits.check_total(total)
                    members.append(member)
            except MetierError:
                # A refusal is an OSError too.
                raise
            except OSError as error:
                raise _changed(error) from error
            finally:
                os.close(here)
        return Contents(members, links, limits=limits)

    def _opened(self, folder: str) -> int:
        """A descriptor of a folder below ours, reached without following a link."""
        here = os.open(self._files.folder, _FOLDER)
        for part in filter(None, folder.split("/")):
            try:
                below = os.open(part, _FOLDER, dir_fd=here)
            except OSError as error:
                raise _changed(error) from error
            finally:
                os.close(here)
            here = below
        return here


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def _member(inner: str, name: str, folder: int, limits: ArchiveLimits) -> Member:
    """What the file is, by what was opened and not by what was listed before."""
    descriptor = os.open(name, _FILE, dir_fd=folder)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise archive_error("special", f"{inner!r} is a device, pipe or socket")
        limits.check_file(inner, status.st_size)
        data = os.read(descriptor, status.st_size + 1)
        while len(data) < status.st_size and (more := os.read(descriptor, status.st_size + 1 - len(data))):
            data += more
        if len(data) != status.st_size:
            raise NotFoundError(f"{inner!r} changed while it was read", hint="try again")
    finally:
        os.close(descriptor)
    return Member(inner, data, bool(status.st_mode & 0o111), status.st_mtime_ns)


def _changed(error: OSError) -> MetierError:
    if error.errno in (errno.EACCES, errno.EPERM):
        return UnavailableError(
            f"{error.filename} cannot be read: permission denied", hint="check its permissions", retryable=False
        )
    return NotFoundError(f"{error.filename!r} changed while it was read", hint="try again")


def _node(child: os.DirEntry[str]) -> Node:
    """By what its folder says, which costs no look at the file: whether it may be run is seen when it is opened."""
    return _LINK if child.is_symlink() else _PLAIN if child.is_file(follow_symlinks=False) else _SPECIAL
