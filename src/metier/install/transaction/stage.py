"""A skill's files, written beside their place where nobody looks, and safe on the disk before anybody does.

Modes are ours to choose: a file may be run or not, and nothing else of what its source said (setuid, group, owner) arrives.

What a power cut may meet is decided by two orders. Every byte of the new state, the new lock too, is on the disk before the
journal takes its name (`flush`); and the journal is before the first skill does. So whatever a journal names is there whole.
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
"""When files were last changed, in ns, by path."""


def write_skills(skills: Iterable[tuple[str, Files, Times]], at: Callable[[str], None] = lambda _: None) -> None:
    """Each skill into its folder, which must not exist. A file that is not in `times` has the time of its source."""
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
            at(f"file {count} of {total}")


def write_copy(source: str, folder: str) -> None:
    """A folder as it stands on disk, links, modes and times included: what somebody edited and wants to keep."""
    # Imported here: it brings three compressors along, and few installations keep something.
    import shutil

    shutil.copytree(source, folder, symlinks=True)


def old_times(source: str, files: Files) -> dict[str, int]:
    """The times of those files in a folder that are byte for byte the same: an update does not make them look new."""
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
    """Everything in these folders is on the disk, or an OSError says that it is not.

    Four hundred files take 90 ms one after the other and 50 ms twenty at once, because each makes the file system write its
    own journal. Asked once for all that it has, it takes 8.
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
        elif not _flushed_at_once(below[0]):
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
    """What was created, renamed or removed in these folders stays so when the power fails."""
    for folder in dict.fromkeys(folders):
        _flush(folder)


def _flushed_at_once(folder: str) -> bool:
    # Before 5.8 Linux kept it to itself when a write had failed.
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
        # A link is in its folder, and on the disk with that.
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _folders(paths: Iterable[str]) -> set[str]:
    """Every folder on the way to these paths; the first is empty."""
    found = {""}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found
