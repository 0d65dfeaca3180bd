"""A folder with skills for agents that read files themselves: mounted read-only, and removed when it is closed.

A copy is checked file by file, so that no link in a skill leads outside, and changes of the agent stay in the copy. A link is
fast and always up to date, and as writable as its target.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from enum import StrEnum
from types import TracebackType
from typing import Self

from metier.catalog import Entry
from metier.errors import ConflictError, NotFoundError, RefusedError
from metier.sources import DiskFiles
from metier.spec import SKILL_FILE, OwnFiles, SkillName

__all__ = ["SkillMount", "SkillsFolder"]

_LARGEST_FILE = 64 * 1024 * 1024


class SkillMount(StrEnum):
    """The way a skill is put into the folder."""

    COPY = "copy"
    LINK = "link"


class SkillsFolder:
    """A folder with skills below `below`, one folder each, until it is closed or Python ends.

    `folder` is an existing folder, whose other files are kept; by default a new temporary one. A skill's folder is its name, or
    with a `root` its path below that.
    """

    def __init__(
        self, skills: Iterable[Entry], *, folder: str | os.PathLike[str] | None = None, below: str = ".claude/skills",
        how: SkillMount = SkillMount.COPY, root: str = "",
    ) -> None:  # fmt: skip
        self._made: list[str] = []
        self._whole: list[str] = []
        """Those of them that hold only our files."""
        # Not `__del__`, which Python does not call for objects that are alive at exit.
        self._remove = weakref.finalize(self, _remove, self._made, self._whole)
        if folder is None:
            folder = tempfile.mkdtemp(prefix="metier-skills-")
            self._made.append(folder)
            self._whole.append(folder)
        self.folder = os.path.realpath(folder)
        self.skills_folder = os.path.join(self.folder, below)
        self._sources: dict[str, str] = {}
        self._targets: dict[str, str] = {}
        try:
            self._make_folders(self.skills_folder)
            for entry in skills:
                inner = os.path.relpath(entry.folder, root) if root else str(SkillName(entry.name))
                self._mount(entry, os.path.normpath(os.path.join(self.skills_folder, inner)), how)
        except BaseException:
            self.close()
            raise

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._sources)

    def path_of(self, name: str, path: str = SKILL_FILE) -> str:
        return os.path.join(self._targets[name], path)

    def find(self, path: str, *, cwd: str = "") -> tuple[str, str] | None:
        """The skill that a file belongs to, here or in its source folder, and the path in the skill."""
        real = os.path.realpath(os.path.join(cwd, path))
        for name, source in self._sources.items():
            for root in (self._targets[name], source):
                if real == root or real.startswith(root + os.sep):
                    return name, real[len(root) + 1 :].replace(os.sep, "/")
        return None

    def close(self) -> None:
        self._remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _make_folders(self, folder: str) -> None:
        missing = []
        while not os.path.isdir(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for folder in reversed(missing):
            os.mkdir(folder)
            self._made.append(folder)

    def _mount(self, entry: Entry, target: str, how: SkillMount) -> None:
        self._make_folders(os.path.dirname(target))
        if target in self._made and not os.listdir(target):
            # The skill is the root itself, so its folder was just made.
            self._made.remove(target)
            os.rmdir(target)
        if os.path.lexists(target):
            if not _has_same_files(entry.folder, target):
                raise ConflictError(f"{target} exists already", hint="remove it, or mount the skills into another folder")
        elif how is SkillMount.LINK:
            os.symlink(entry.folder, target, target_is_directory=True)
            self._made.append(target)
        else:
            self._made.append(target)
            self._whole.append(target)
            _copy(DiskFiles(entry.folder), target)
        self._sources[entry.name], self._targets[entry.name] = os.path.realpath(entry.folder), target


def _has_same_files(source: str, target: str) -> bool:
    """Returns True for the skill itself, a link to it, and a whole copy that the host has put there."""
    if os.path.realpath(source) == os.path.realpath(target):
        return True
    wanted, there = DiskFiles(source), DiskFiles(target)
    try:
        return all(
            wanted.read(file.path, limit=_LARGEST_FILE) == there.read(file.path, limit=_LARGEST_FILE)
            for file in OwnFiles(wanted).list()
        )
    except (OSError, NotFoundError, RefusedError):
        return False


def _copy(files: DiskFiles, target: str) -> None:
    os.mkdir(target)
    for file in OwnFiles(files).list():
        place = os.path.join(target, file.path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "xb") as stream:
            stream.write(files.read(file.path, limit=_LARGEST_FILE))
        os.chmod(place, 0o500 if file.executable else 0o400)
    for folder, _, _ in os.walk(target):
        os.chmod(folder, 0o500)


def _remove(made: list[str], whole: list[str]) -> None:
    """Removes exactly what was created, the last first. A folder with other files stays."""
    while made:
        path = made.pop()
        if os.path.islink(path):
            os.unlink(path)
        elif path in whole:
            for folder, _, _ in os.walk(path):
                os.chmod(folder, 0o700)
            shutil.rmtree(path)
        elif os.path.isdir(path) and not os.listdir(path):
            os.rmdir(path)
