"""The journal: the list of renames that commits an installation.

Everything new is first written and flushed beside its final path. Then one small file, the journal, lists the renames that are
left. Once it is on the disk the installation is committed, and the next installer finishes it if this process dies. Before
that, staged files are garbage. The kernel exchanges two names in one step, so a skill is never half there.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from metier.errors import RefusedError
from metier.install.targets.scope import InstallScope
from metier.spec import is_name
from metier.values import dataclass

from .stage import flush_folders

__all__ = [
    "STAGE_PREFIX",
    "Checkpoint",
    "Journal",
    "Move",
    "ignore_checkpoint",
    "leftovers",
    "read_journal",
    "recover",
    "stage_below",
    "sweep",
]

STAGE_PREFIX = ".metier-stage-"
# No search for skills enters a folder of this name, so no agent finds what is only staged.
_INNER = ".cache"
_NO_EXCHANGE = frozenset({errno.EINVAL, errno.ENOSYS, errno.EXDEV, errno.ENOTSUP, errno.EOPNOTSUPP})
Checkpoint = Callable[[str], None]
"""Called at each named point of an installation; a test kills the process there."""


def ignore_checkpoint(point: str) -> None:
    """The default outside of tests."""


@dataclass(frozen=True, slots=True)
class Move:
    """Exchanges `staged` and `final`; without a staged file, `final` is removed."""

    staged: str
    final: str
    inode: int = 0
    """The inode of the staged file, which tells whether the move was made; 0 for a removal."""

    @property
    def is_done(self) -> bool:
        return _inode(self.final) == self.inode

    def make(self) -> None:
        if self.is_done:
            return
        if not self.inode:
            os.rename(self.final, self.staged)
        elif os.path.lexists(self.final):
            _exchange(self.staged, self.final)
        else:
            os.rename(self.staged, self.final)

    def undo(self) -> None:
        if not self.is_done:
            return
        if not self.inode:
            if os.path.lexists(self.staged):
                os.rename(self.staged, self.final)
        elif os.path.lexists(self.staged):
            _exchange(self.staged, self.final)
        else:
            os.rename(self.final, self.staged)


@dataclass(frozen=True, slots=True)
class Journal:
    file: str
    stages: tuple[str, ...]
    moves: tuple[Move, ...]
    """In order; the lock file comes last."""

    def write(self, checkpoint: Checkpoint) -> None:
        body = {"version": 1, "stages": self.stages, "moves": [[move.staged, move.final, move.inode] for move in self.moves]}
        temporary = os.path.join(self.stages[0], "journal")
        with open(temporary, "w", encoding="utf-8") as stream:
            json.dump(body, stream)
            stream.flush()
            os.fsync(stream.fileno())
        checkpoint("journal staged")
        os.rename(temporary, self.file)
        flush_folders([os.path.dirname(self.file)])

    def finish(self, checkpoint: Checkpoint) -> None:
        """Makes the remaining moves. Can be repeated from the start at any point."""
        for number, move in enumerate(self.moves, start=1):
            move.make()
            checkpoint(f"move {number} of {len(self.moves)}")
        self._close(checkpoint)

    def undo(self) -> None:
        for move in reversed(self.moves):
            move.undo()
        self._close(ignore_checkpoint)

    def _close(self, checkpoint: Checkpoint) -> None:
        flush_folders(folder for move in self.moves if os.path.isdir(folder := os.path.dirname(move.final)))
        checkpoint("moves flushed")
        os.unlink(self.file)
        flush_folders([os.path.dirname(self.file)])
        checkpoint("journal removed")
        sweep(self.stages)


def recover(scope: InstallScope, checkpoint: Checkpoint = ignore_checkpoint) -> bool:
    """Finishes an interrupted installation. Returns True if there was one. The scope must be held."""
    journal = read_journal(scope)
    if journal is None:
        return False
    journal.finish(checkpoint)
    return True


def read_journal(scope: InstallScope) -> Journal | None:
    try:
        with open(scope.journal, encoding="utf-8") as stream:
            body = json.load(stream)
        moves = tuple(Move(str(staged), str(final), int(inode)) for staged, final, inode in body["moves"])
        stages = tuple(map(str, body["stages"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise _refused(scope, "is damaged") from error
    # A cloned project may contain a journal: refuse paths that no installation writes.
    parents = scope.parents
    for stage in stages:
        if os.path.dirname(stage) not in (*parents, scope.root) or not os.path.basename(stage).startswith(STAGE_PREFIX):
            raise _refused(scope, f"names {stage!r}, which metier does not write to")
    for move in moves:
        inside = any(os.path.dirname(move.staged) in (stage, os.path.join(stage, _INNER)) for stage in stages)
        if not inside or not _is_allowed(move.final, parents, scope.lock_file):
            raise _refused(scope, f"names {move.final!r}, which metier does not write to")
    return Journal(scope.journal, stages, moves)


def _is_allowed(final: str, parents: frozenset[str], lock_file: str) -> bool:
    name = re.sub(r"\.orig(\.\d+)?$", "", os.path.basename(final))
    return final == lock_file or (os.path.dirname(final) in parents and is_name(name))


def _refused(scope: InstallScope, what: str) -> RefusedError:
    return RefusedError(f"{scope.journal} {what}", rule="journal",
                   hint="delete it, or run `metier doctor --repair`")  # fmt: skip


@contextmanager
def stage_below(parent: str, scope: InstallScope, checkpoint: Checkpoint = ignore_checkpoint) -> Iterator[tuple[str, str]]:
    """Makes a staging folder in `parent` with a hidden folder inside, locked as in use until the block ends."""
    os.makedirs(parent, exist_ok=True)
    with _lock_folder(parent, scope):
        stage = _make_stage(parent)
        try:
            checkpoint(f"stage begun in {os.path.basename(parent)}")
            descriptor = os.open(stage, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.mkdir(os.path.join(stage, _INNER))
        except BaseException:
            sweep([stage])
            raise
    try:
        yield stage, os.path.join(stage, _INNER)
    finally:
        os.close(descriptor)


def leftovers(scope: InstallScope) -> list[str]:
    """Returns staging folders of killed processes, whose file locks are gone."""
    found: list[str] = []
    for parent in (*scope.parents, scope.root):
        try:
            names = [name for name in os.listdir(parent) if name.startswith(STAGE_PREFIX)]
            if names:
                with _lock_folder(parent, scope):
                    found += [stage for name in names if not _is_in_use(stage := os.path.join(parent, name))]
        except OSError:
            continue
    return sorted(found)


@contextmanager
def _lock_folder(parent: str, scope: InstallScope) -> Iterator[None]:
    """A staging folder looks abandoned until it is locked, so making one and looking for leftovers exclude each other."""
    if parent == scope.root:
        # The installer that stages there holds the whole scope.
        yield
        return
    descriptor = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            # Some network file systems cannot lock folders; there this is not guarded.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _make_stage(parent: str) -> str:
    """Makes a new private folder."""
    while True:
        stage = os.path.join(parent, STAGE_PREFIX + os.urandom(4).hex())
        with contextlib.suppress(FileExistsError):
            os.mkdir(stage, 0o700)
            return stage


def sweep(stages: Sequence[str]) -> None:
    for stage in stages:
        try:
            # After a finished installation both are empty.
            os.rmdir(os.path.join(stage, _INNER))
            os.rmdir(stage)
        except OSError:
            # Imported here: it brings three compressors along.
            import shutil

            shutil.rmtree(stage, ignore_errors=True)


def _is_in_use(stage: str) -> bool:
    try:
        descriptor = os.open(stage, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _inode(path: str) -> int:
    try:
        return os.lstat(path).st_ino
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _exchange(one: str, other: str) -> None:
    """Exchanges two names, in one step where the system can do that."""
    if not _exchange_atomically(one, other):
        # After a crash in between, finishing the journal closes the gap.
        temporary = f"{one}.old"
        os.rename(other, temporary)
        os.rename(one, other)
        os.rename(temporary, one)


def _exchange_atomically(one: str, other: str) -> bool:
    # Imported here: the first installation of a skill replaces nothing.
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    paths = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin":
        failed = libc.renamex_np(*paths, 2)
    else:
        failed = libc.renameat2(-100, paths[0], -100, paths[1], 2) if hasattr(libc, "renameat2") else -1
    problem = ctypes.get_errno() or errno.ENOSYS
    if failed and problem not in _NO_EXCHANGE:
        raise OSError(problem, os.strerror(problem), other)
    return not failed
