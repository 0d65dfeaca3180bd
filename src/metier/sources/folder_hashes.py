"""The hash of every file and link below a folder, whatever its name: the input of the digest that approvals are bound to.

Nothing is left out: a folder of installed packages, a cache, a hidden file or the target of a link can hold code that runs.
A pipe or an unreadable file has a line without a hash, so its appearance changes the digest too.

The digest is checked before every run that needs an approval. A `node_modules` of 200 MB takes about a second to hash, so
hashes are kept while the process runs, by device, inode, size and both times of a file. A program cannot set the ctime of a
file, so a change always shows. Nothing is kept on disk, where it could be forged.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator

from metier.archive import EXECUTABLE, LINK, PLAIN
from metier.errors import RefusedError

from .disk_files import MAX_FILES

__all__ = ["hash_folder"]

_FOLDER, _SPECIAL = "040000", "000000"
_PART = 1 << 20
_SETTLED_NS = 2 * 10**9
"""Two changes within one tick of a file system's clock have the same ctime, so the hash of a file just changed is not kept."""
_MOST_KEPT = 4 * MAX_FILES

_FileId = tuple[int, int, int, int, int]
_kept: dict[_FileId, str] = {}


def hash_folder(folder: str, *, most: int = MAX_FILES) -> dict[str, tuple[str, str]]:
    """Returns mode and hex SHA-256 of every file and link. Raises RefusedError if there are more than `most`."""
    hashes: dict[str, tuple[str, str]] = {}
    for path, line in _walk(os.path.realpath(folder)):
        hashes[path] = line
        if len(hashes) > most:
            raise RefusedError(
                f"{folder} has more than {most:,} files and cannot be approved",
                rule="too-many-files",
                hint="remove files that the skill does not need, such as node_modules",
            )
    return hashes


def _walk(top: str) -> Iterator[tuple[str, tuple[str, str]]]:
    pending = [""]
    while pending:
        prefix = pending.pop()
        try:
            with os.scandir(f"{top}/{prefix}") as children:
                for child in children:
                    path = prefix + child.name
                    if child.is_dir(follow_symlinks=False):
                        pending.append(f"{path}/")
                    else:
                        yield path, _line(child)
        except OSError:
            yield prefix, (_FOLDER, "")


def _line(child: os.DirEntry[str]) -> tuple[str, str]:
    """Returns the mode and the hash; an empty hash for what cannot be read."""
    mode = _SPECIAL
    try:
        if child.is_symlink():
            return LINK, hashlib.sha256(os.fsencode(os.readlink(child.path))).hexdigest()
        status = os.lstat(child.path)
        if not stat.S_ISREG(status.st_mode):
            return mode, ""
        mode = EXECUTABLE if status.st_mode & 0o111 else PLAIN
        return mode, _kept.get(_id_of(status)) or _hash_file(child.path)
    except OSError:
        return mode, ""


def _hash_file(path: str) -> str:
    # O_NONBLOCK: it could be a pipe by now.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        before = os.fstat(descriptor)
        whole = hashlib.sha256()
        while part := os.read(descriptor, _PART):
            whole.update(part)
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if _id_of(before) == _id_of(after) and after.st_ctime_ns + _SETTLED_NS < time.time_ns():
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        _kept[_id_of(after)] = whole.hexdigest()
    return whole.hexdigest()


def _id_of(status: os.stat_result) -> _FileId:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
