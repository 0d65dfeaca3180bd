"""Staging folders: private folders beside the final paths, in which an installation prepares what it will rename.

A staging folder and the folder that it is in are held open, and every write, rename and removal goes through these
descriptors. So it reaches the folders that were checked, even if another process puts a link in the place of one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from metier.install.targets.scope import InstallScope
from metier.sources import inner_folder, open_folder
from metier.values import dataclass

__all__ = ["StageFolder", "leftovers", "make_stage", "open_stage", "sweep_leftovers"]

_PREFIX = ".metier-stage-"
_OTHERS = (".metier-new-", ".metier-deleted-")
_OLD_SECONDS = 600
"""Folders of these other names exist for a moment only."""
# No search for skills enters a folder of this name, so no agent finds what is only staged.
_INNER = ".cache"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFolder:
    parent: str
    name: str
    outer: int
    """A descriptor of the folder of the final paths."""
    own: int
    """A descriptor of the staging folder, locked as in use."""
    inner: int
    """A descriptor of the folder inside it that holds what is staged."""

    @property
    def path(self) -> str:
        return os.path.join(self.parent, self.name)

    @property
    def inode(self) -> int:
        return os.fstat(self.own).st_ino

    def sweep(self) -> None:
        """Removes the staging folder with everything in it."""
        try:
            # After a finished installation both are empty.
            os.rmdir(_INNER, dir_fd=self.own)
            os.rmdir(self.name, dir_fd=self.outer)
        except OSError:
            _remove_tree(self.name, self.outer)

    def close(self) -> None:
        _close((self.inner, self.own, self.outer))


def make_stage(parent: str, scope: InstallScope) -> StageFolder:
    """Makes a staging folder in `parent`, locked as in use until it is closed."""
    descriptors = [open_folder(parent, inside=scope.inside, create=True)]
    try:
        with _lock_folder(descriptors[0], scope):
            name = _make_private(descriptors[0])
            try:
                descriptors.append(os.open(name, _FOLDER, dir_fd=descriptors[0]))
                fcntl.flock(descriptors[1], fcntl.LOCK_EX)
                os.mkdir(_INNER, dir_fd=descriptors[1])
                descriptors.append(os.open(_INNER, _FOLDER, dir_fd=descriptors[1]))
            except BaseException:
                _remove_tree(name, descriptors[0])
                raise
    except BaseException as error:
        _close(descriptors)
        if isinstance(error, OSError) and error.errno:
            # The calls above know the last name only.
            error.filename = parent
        raise
    outer, own, inner = descriptors
    return StageFolder(parent=parent, name=name, outer=outer, own=own, inner=inner)


def open_stage(parent: str, name: str, inode: int, scope: InstallScope) -> StageFolder | None:
    """Opens the staging folder of a killed installer; None if it is gone or another folder is in its place."""
    descriptors: list[int] = []
    try:
        descriptors.append(open_folder(parent, inside=scope.inside))
        descriptors.append(os.open(name, _FOLDER, dir_fd=descriptors[0]))
        descriptors.append(os.open(_INNER, _FOLDER, dir_fd=descriptors[1]))
        outer, own, inner = descriptors
        stage = StageFolder(parent=parent, name=name, outer=outer, own=own, inner=inner)
        if stage.inode == inode:
            return stage
    except OSError:
        # RefusedError too: a link out of the project is in its place.
        pass
    _close(descriptors)
    return None


def leftovers(scope: InstallScope) -> list[str]:
    """Returns the paths of folders that killed processes left."""
    return sorted(os.path.join(parent, name) for parent, name, _ in _leftovers(scope))


def sweep_leftovers(scope: InstallScope) -> None:
    for _, name, outer in _leftovers(scope):
        _remove_tree(name, outer)


def _leftovers(scope: InstallScope) -> Iterator[tuple[str, str, int]]:
    """Yields each folder that a killed process left: its parent, its name, and a descriptor of its parent."""
    for parent in (*scope.parents, scope.root):
        # RefusedError is an OSError too: a link out of the project, which no installation has entered.
        with contextlib.suppress(OSError), inner_folder(parent, inside=scope.inside) as outer:
            stages = [name for name in os.listdir(outer) if name.startswith((_PREFIX, *_OTHERS))]
            if stages:
                with _lock_folder(outer, scope):
                    abandoned = [name for name in stages if _is_abandoned(name, outer)]
                for name in abandoned:
                    yield parent, name, outer


def _is_abandoned(name: str, outer: int) -> bool:
    try:
        descriptor = os.open(name, _FOLDER, dir_fd=outer)
    except OSError:
        return False
    try:
        if name.startswith(_OTHERS):
            return time.time() - os.fstat(descriptor).st_ctime > _OLD_SECONDS
        # The lock of a killed process is gone.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


@contextmanager
def _lock_folder(outer: int, scope: InstallScope) -> Iterator[None]:
    """A staging folder looks abandoned until it is locked, so making one and looking for leftovers exclude each other."""
    if os.path.isdir(scope.root) and os.path.samestat(os.fstat(outer), os.stat(scope.root)):
        # The installer that stages there holds the whole scope. A folder of skills may be a link to it.
        yield
        return
    with contextlib.suppress(OSError):
        # Some network file systems cannot lock folders; there this is not guarded.
        fcntl.flock(outer, fcntl.LOCK_EX)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(outer, fcntl.LOCK_UN)


def _make_private(outer: int) -> str:
    while True:
        name = _PREFIX + os.urandom(8).hex()
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=outer)
            return name


def _remove_tree(name: str, outer: int) -> None:
    # Imported here: it brings three compressors along.
    import shutil

    shutil.rmtree(name, ignore_errors=True, dir_fd=outer)


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
