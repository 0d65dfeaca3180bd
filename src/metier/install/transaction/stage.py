"""Writes the files of skills to staging folders, and flushes them to the disk.

File modes are 0644 or 0755; setuid, group and owner of the source are ignored.

Two orders make a power cut safe: every byte of the new state, including the new lock, is on the disk before the journal gets
its name (`flush`), and the journal is on the disk before the first rename. So everything that a journal names is complete.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping

from metier.archive import SKILL_LIMITS, Contents, Member, read_contents
from metier.spec import Files

__all__ = ["flush", "flush_folders", "old_times", "write_copy", "write_skills"]

_FEW = 16
_FLUSHERS = 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
Times = Mapping[str, int]
"""Modification times in ns, by path."""


def write_skills(skills: Iterable[tuple[str, Files, Times]], checkpoint: Callable[[str], None] = lambda _: None) -> None:
    """Writes each skill to its folder, which must not exist. A file that is not in `times` keeps the time of its source."""
    jobs = [(folder, files if isinstance(files, Contents) else read_contents(files), times) for folder, files, times in skills]
    count, total = 0, sum(len(contents.members) for _, contents, _ in jobs)
    for folder, contents, times in jobs:
        paths = [member.path for member in contents.members] + [link.path for link in contents.links]
        for below in sorted(_folders(paths)):
            os.mkdir(os.path.join(folder, below), 0o755)
        for link in contents.links:
            os.symlink(link.target, os.path.join(folder, link.path))
        for member in contents.members:
            _write(f"{folder}/{member.path}", member, times.get(member.path, member.time))
            count += 1
            checkpoint(f"file {count} of {total}")


def write_copy(source: str, folder: str) -> None:
    """Copies a folder with its links, modes and times."""
    # Imported here: it imports three compressors, and few installations keep a copy.
    import shutil

    shutil.copytree(source, folder, symlinks=True)


def old_times(source: str, files: Files) -> dict[str, int]:
    """Returns the times of the files that an update leaves unchanged, so that they do not look new."""
    times: dict[str, int] = {}
    if not os.path.isdir(source):
        return times
    for entry in files.list():
        path = os.path.join(source, entry.path)
        try:
            status = os.lstat(path)
            if status.st_size == entry.size:
                with open(path, "rb") as stream:
                    same = stream.read() == files.read(entry.path, limit=SKILL_LIMITS.file)
                if same:
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


def flush_folders(folders: Iterable[str]) -> None:
    """Flushes creations, renames and removals in these folders."""
    for folder in dict.fromkeys(folders):
        _flush(folder)


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


def _write(file: str, member: Member, time: int | None) -> None:
    descriptor = os.open(file, _NEW, 0o755 if member.executable else 0o644)
    try:
        view = memoryview(member.data)
        while view:
            view = view[os.write(descriptor, view) :]
        if time is not None:
            os.utime(descriptor, ns=(time, time))
    finally:
        os.close(descriptor)


def _flush(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        if not os.path.islink(path):
            raise
        # A link is flushed with its folder.
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _folders(paths: Iterable[str]) -> set[str]:
    """Returns every parent folder of these paths, including the empty one."""
    found = {""}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found
