"""Writes the files of skills to staging folders, and flushes them to the disk.

File modes are 0644 or 0755; setuid, group and owner of the source are ignored. Folders are open descriptors, and each name
below is created with O_NOFOLLOW in the descriptor of its folder, so that no write leaves the staging folder.

Two orders make a power cut safe: every byte of the new state, including the new lock, is on the disk before the journal gets
its name (`flush`), and the journal is on the disk before the first rename. So everything that a journal names is complete.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from metier.archive import SKILL_LIMITS, Contents, Link, Member, read_contents
from metier.sources import open_regular, read_regular
from metier.spec import Files

__all__ = ["flush", "old_times", "write_copy", "write_skills"]

_FEW = 16
_FLUSHERS = 20
_PART = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
Times = Mapping[str, int]
"""Modification times in ns, by path."""


def write_skills(skills: Iterable[tuple[int, str, Files, Times]], checkpoint: Callable[[str], None] = lambda _: None) -> None:
    """Writes each skill as a new folder of this name in an open folder. A file that is not in `times` keeps its own time."""
    jobs = [
        (folder, name, files if isinstance(files, Contents) else read_contents(files), times)
        for folder, name, files, times in skills
    ]
    count, total = 0, sum(len(contents.members) for _, _, contents, _ in jobs)
    for folder, name, contents, times in jobs:
        for _ in _write_folder(_children(contents), "", folder, name, times):
            count += 1
            checkpoint(f"file {count} of {total}")


def write_copy(source: int, source_name: str, folder: int, name: str) -> None:
    """Copies a folder with its links, modes and times from one open folder to another. Pipes and devices are left out."""
    with _open_folder(source_name, source) as old, _new_folder(name, folder) as new:
        for child in os.listdir(old):
            status = os.lstat(child, dir_fd=old)
            if stat.S_ISLNK(status.st_mode):
                os.symlink(os.readlink(child, dir_fd=old), child, dir_fd=new)
            elif stat.S_ISDIR(status.st_mode):
                write_copy(old, child, new, child)
            elif stat.S_ISREG(status.st_mode):
                _copy_file(child, old, new)
        _copy_status(old, new)


def old_times(source: str, files: Files) -> dict[str, int]:
    """Returns the times of the files that an update leaves unchanged, so that they do not look new."""
    times: dict[str, int] = {}
    if not os.path.isdir(source):
        return times
    for entry in files.list():
        path = os.path.join(source, entry.path)
        try:
            status = os.lstat(path)
            if status.st_size == entry.size and read_regular(path) == files.read(entry.path, limit=SKILL_LIMITS.file):
                times[entry.path] = status.st_mtime_ns
        except OSError:
            continue
    return times


def flush(stages: Iterable[str]) -> None:
    """Flushes everything in these folders to the disk. Raises OSError.

    Four hundred files take 90 ms one by one and 50 ms with 20 threads, because the file system writes its journal for each.
    One `syncfs` takes 8 ms.
    """
    for below in _by_device(stages).values():
        paths = [
            path
            for stage in below
            for root, _, names in os.walk(stage)
            for path in (root, *(f"{root}/{name}" for name in names))
        ]
        if len(paths) <= _FEW:
            for path in paths:
                _flush(path)
        elif not _sync_file_system(below[0]):
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(_FLUSHERS) as pool:
                for _ in pool.map(_flush, paths):
                    pass


def _by_device(folders: Iterable[str]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for folder in folders:
        found.setdefault(os.stat(folder).st_dev, []).append(folder)
    return found


def _sync_file_system(folder: str) -> bool:
    # Before Linux 5.8, syncfs did not report failed writes.
    release = re.match(r"(\d+)\.(\d+)", os.uname().release) if sys.platform == "linux" else None
    if release is None or (int(release[1]), int(release[2])) < (5, 8):
        return False
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if libc.syncfs(descriptor):
            problem = ctypes.get_errno()
            raise OSError(problem, os.strerror(problem), folder)
    finally:
        os.close(descriptor)
    return True


Children = Mapping[str, list[tuple[str, Member | Link | None]]]
"""The names in each folder, by its path: a file, a link, or None for a folder."""


def _children(contents: Contents) -> Children:
    found: dict[str, list[tuple[str, Member | Link | None]]] = {"": []}
    items: list[Member | Link] = [*contents.links, *contents.members]
    for item in items:
        folder, _, name = item.path.rpartition("/")
        missing = folder
        while missing not in found:
            found[missing] = []
            missing = missing.rpartition("/")[0]
        found[folder].append((name, item))
    for path in [path for path in found if path]:
        above, _, name = path.rpartition("/")
        found[above].append((name, None))
    return found


def _write_folder(children: Children, path: str, above: int, name: str, times: Times) -> Iterator[Member]:
    """Writes one folder and those below it; yields each file once it is written."""
    with _new_folder(name, above) as folder:
        for child, item in children[path]:
            if item is None:
                yield from _write_folder(children, f"{path}/{child}" if path else child, folder, child, times)
            elif isinstance(item, Link):
                os.symlink(item.target, child, dir_fd=folder)
            else:
                _write_file(child, folder, item, times.get(item.path, item.time))
                yield item


def _write_file(name: str, folder: int, member: Member, time: int | None) -> None:
    descriptor = os.open(name, _NEW, 0o755 if member.executable else 0o644, dir_fd=folder)
    try:
        _write_all(descriptor, member.data)
        if time is not None:
            os.utime(descriptor, ns=(time, time))
    finally:
        os.close(descriptor)


def _copy_file(name: str, source: int, target: int) -> None:
    old = open_regular(name, dir_fd=source)
    try:
        new = os.open(name, _NEW, 0o600, dir_fd=target)
        try:
            while part := os.read(old, _PART):
                _write_all(new, part)
            _copy_status(old, new)
        finally:
            os.close(new)
    finally:
        os.close(old)


def _copy_status(old: int, new: int) -> None:
    status = os.fstat(old)
    os.fchmod(new, status.st_mode & 0o777)
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextmanager
def _new_folder(name: str, above: int) -> Iterator[int]:
    os.mkdir(name, 0o755, dir_fd=above)
    with _open_folder(name, above) as folder:
        yield folder


@contextmanager
def _open_folder(name: str, above: int) -> Iterator[int]:
    descriptor = os.open(name, _FOLDER, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _flush(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        if not os.path.islink(path):
            raise
        # A link is flushed with its folder.
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
