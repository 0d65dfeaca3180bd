"""A skill's files, written beside their place where nobody looks, and safe on the disk before anybody does.

Modes are ours to choose: a file may be run or not, and nothing else of what its source said (setuid, group, owner) arrives.
"""

from __future__ import annotations

import os
import posixpath
import shutil
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from metier.archive import SKILL_LIMITS, Contents
from metier.spec import Files

__all__ = ["flush_folders", "old_times", "write_copy", "write_skills"]

# One fsync waits for the disk, and twenty that wait at once share that wait: 400 files take 60 ms instead of 1,400.
_WRITERS = 20
Times = Mapping[str, int]
"""When files were last changed, in ns, by path; what is not in it is new."""


def write_skills(skills: Iterable[tuple[str, Files, Times]], at: Callable[[str], None] = lambda _: None) -> None:
    """Each skill into its folder, which must not exist, and every byte on the disk."""
    jobs: list[Callable[[], None]] = []
    folders: list[str] = []
    for folder, files, times in skills:
        links = [(link.path, link.target) for link in files.links] if isinstance(files, Contents) else []
        entries = list(files.list())
        paths = [*(entry.path for entry in entries), *(path for path, _ in links)]
        below = {folder, *(os.path.join(folder, each) for path in paths for each in _parents(path))}
        for each in sorted(below):
            os.mkdir(each, 0o755)
        for path, target in links:
            os.symlink(target, os.path.join(folder, path))
        jobs += [
            _writing(
                os.path.join(folder, entry.path), files, entry.path, 0o755 if entry.executable else 0o644, times.get(entry.path)
            )
            for entry in entries
        ]
        folders += below
    with ThreadPoolExecutor(_WRITERS) as pool:
        for number, _ in enumerate(pool.map(lambda job: job(), jobs), start=1):
            at(f"file {number} of {len(jobs)}")
        for _ in pool.map(_flush, folders):
            pass


def write_copy(source: str, folder: str) -> None:
    """A folder as it stands on disk, links, modes and times included: what somebody edited and wants to keep."""
    shutil.copytree(source, folder, symlinks=True)
    flush_folders([root for root, _, _ in os.walk(folder)])


def old_times(source: str, files: Files) -> dict[str, int]:
    """The times of those files in a folder that are byte for byte the same: an update does not make them look new."""
    times: dict[str, int] = {}
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


def flush_folders(folders: Iterable[str]) -> None:
    """What was created, renamed or removed in these folders stays so when the power fails."""
    for folder in dict.fromkeys(folders):
        _flush(folder)


def _writing(file: str, files: Files, path: str, mode: int, time: int | None) -> Callable[[], None]:
    def write() -> None:
        data = files.read(path, limit=SKILL_LIMITS.file)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            if time is not None:
                os.utime(descriptor, ns=(time, time))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    return write


def _flush(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _parents(path: str) -> Iterable[str]:
    parent = posixpath.dirname(path)
    while parent:
        yield parent
        parent = posixpath.dirname(parent)
