"""Trees of files that may contain skills: a protocol, an unpacked archive, and a folder on disk.

The fourth implementation, a git commit, is in `install.git.objects`.
"""

from __future__ import annotations

import errno
import os
import stat
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import groupby
from typing import Protocol

from metier.archive import SKILL_LIMITS, ArchiveLimits, Contents, Link, Member, archive_error
from metier.errors import MetierError, NotFoundError, RefusedError, UnavailableError
from metier.sources import SKIPPED_NAMES, DiskFiles
from metier.values import dataclass

__all__ = ["ContentsTree", "FolderTree", "SkillTree", "TreeNode", "read_folder"]

_MOST_FILES = 200_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a pipe without a writer must not block.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
    kind: str
    """`file`, `executable`, `link`, `submodule` or `special`."""
    key: str = ""
    """The key by which the tree finds the bytes, such as a git object id."""


_PLAIN, _LINK, _SPECIAL = TreeNode(kind="file"), TreeNode(kind="link"), TreeNode(kind="special")


class SkillTree(Protocol):
    """Files by path. Paths have forward slashes and no leading one."""

    @property
    def nodes(self) -> Mapping[str, TreeNode]:
        """Everything that is not a folder, by path."""

    def prefetch(self, paths: Iterable[str]) -> None:
        """Announces that these paths are read next, so that a remote tree fetches them in one round trip."""

    def read(self, path: str, *, limit: int) -> bytes:
        """Returns the bytes of one file."""

    def contents(self, folder: str, *, leave_out: Iterable[str] = (), limits: ArchiveLimits = SKILL_LIMITS) -> Contents:
        """Returns a whole folder, without files and folders whose name is in `leave_out`."""


class ContentsTree:
    """An archive that was unpacked in memory."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        files = {member.path: TreeNode(kind="executable" if member.executable else "file") for member in contents.members}
        self._nodes = files | {link.path: _LINK for link in contents.links}

    @property
    def nodes(self) -> Mapping[str, TreeNode]:
        return self._nodes

    def prefetch(self, paths: Iterable[str]) -> None:
        """Does nothing: the archive is in memory."""

    def read(self, path: str, *, limit: int) -> bytes:
        return self._contents.read(path, limit=limit)

    def contents(self, folder: str, *, leave_out: Iterable[str] = (), limits: ArchiveLimits = SKILL_LIMITS) -> Contents:
        return self._contents.below(folder, limits=limits).without(leave_out)


def read_folder(folder: str, *, limits: ArchiveLimits = SKILL_LIMITS) -> Contents:
    """Reads a skill's folder into memory."""
    return FolderTree(folder).contents("", limits=limits)


class FolderTree:
    """A folder on disk. Links are never followed."""

    def __init__(self, folder: str) -> None:
        self._files = DiskFiles(folder)

    @cached_property
    def nodes(self) -> Mapping[str, TreeNode]:
        nodes: dict[str, TreeNode] = {}
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
                raise UnavailableError(f"cannot read {error.filename}: {(error.strerror or 'error').lower()}",
                                       hint="check its permissions", retryable=False) from error  # fmt: skip
            if len(nodes) > _MOST_FILES:
                raise RefusedError(f"{self._files.folder} has more than {_MOST_FILES:,} files", rule="repository-size",
                                   hint="name the skill's own folder")  # fmt: skip
        return dict(sorted(nodes.items()))

    def prefetch(self, paths: Iterable[str]) -> None:
        """Does nothing: the files are on this disk."""

    def read(self, path: str, *, limit: int) -> bytes:
        return self._files.read(path, limit=limit)

    def contents(self, folder: str, *, leave_out: Iterable[str] = (), limits: ArchiveLimits = SKILL_LIMITS) -> Contents:
        prefix, unwanted = f"{folder}/" if folder else "", frozenset(leave_out)
        wanted = [path for path in self._below(folder) if unwanted.isdisjoint(path[len(prefix) :].split("/"))]
        limits.check_count(len(wanted))
        members: list[Member] = []
        links: list[Link] = []
        total = 0
        # Grouped by folder, so that each is opened once.
        for parent, paths in groupby(sorted(wanted, key=_parent), key=_parent):
            descriptor = self._open(parent)
            try:
                for path in paths:
                    kind, name, inner = self.nodes[path].kind, path.rpartition("/")[2], path[len(prefix) :]
                    if kind == "special":
                        raise archive_error("special", f"{path!r} is a device, pipe or socket")
                    if kind == "link":
                        links.append(Link(inner, os.readlink(name, dir_fd=descriptor)))
                        continue
                    member = _read_member(inner, name, descriptor, limits)
                    total += len(member.data)
                    limits.check_total(total)
                    members.append(member)
            except MetierError:
                # RefusedError is an OSError too.
                raise
            except OSError as error:
                raise _changed(error) from error
            finally:
                os.close(descriptor)
        return Contents(members, links, limits=limits)

    @cached_property
    def _paths(self) -> list[str]:
        return list(self.nodes)

    def _below(self, folder: str) -> list[str]:
        """Returns the paths in a folder, by bisection: the paths are sorted, and many skills ask."""
        if not folder:
            return self._paths
        # "0" is the character after "/".
        return self._paths[bisect_left(self._paths, f"{folder}/") : bisect_left(self._paths, f"{folder}0")]

    def _open(self, folder: str) -> int:
        """Returns a descriptor of a folder in this one, without following a link on the way."""
        descriptor = os.open(self._files.folder, _FOLDER)
        for part in filter(None, folder.split("/")):
            try:
                below = os.open(part, _FOLDER, dir_fd=descriptor)
            except OSError as error:
                raise _changed(error) from error
            finally:
                os.close(descriptor)
            descriptor = below
        return descriptor


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _read_member(inner: str, name: str, folder: int, limits: ArchiveLimits) -> Member:
    """Reads a file, whose kind and size are those of the open descriptor and not of the earlier listing."""
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
            f"cannot read {error.filename}: permission denied", hint="check its permissions", retryable=False
        )
    return NotFoundError(f"{error.filename!r} changed while it was read", hint="try again")


def _node(child: os.DirEntry[str]) -> TreeNode:
    # From the directory entry, which costs no stat; the executable bit is read when the file is opened.
    return _LINK if child.is_symlink() else _PLAIN if child.is_file(follow_symlinks=False) else _SPECIAL
