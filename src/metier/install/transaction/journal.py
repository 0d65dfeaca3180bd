"""The moment at which an installation is decided, and how it is finished by whoever comes next.

Everything new is written and flushed beside its place first. Then one small file, the journal, says which renames are
left; once it is on the disk the installation has happened, and a process that dies is finished by the next one. Before
that, nothing has: what was staged is rubbish. A rename that exchanges two names is one step for the kernel, so at no time
is a skill half there.
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

__all__ = ["STAGE_PREFIX", "At", "Journal", "Move", "leftovers", "recover", "stage_below", "sweep"]

STAGE_PREFIX = ".metier-stage-"
# No search for skills enters a folder of this name, so nobody meets what is only staged.
_INNER = ".cache"
_NO_EXCHANGE = frozenset({errno.EINVAL, errno.ENOSYS, errno.EXDEV, errno.ENOTSUP, errno.EOPNOTSUPP})
At = Callable[[str], None]
"""Told where an installation is; a test kills the process there."""


@dataclass(frozen=True, slots=True)
class Move:
    """`staged` takes the place of `final`, and what was there takes its own; nothing staged means that `final` goes."""

    staged: str
    final: str
    inode: int = 0
    """Of what is staged, which tells whether the move was made; 0 where something only goes."""

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
    """In order; the lock file is the last."""

    def write(self, at: At) -> None:
        body = {"version": 1, "stages": self.stages, "moves": [[move.staged, move.final, move.inode] for move in self.moves]}
        temporary = os.path.join(self.stages[0], "journal")
        with open(temporary, "w", encoding="utf-8") as stream:
            json.dump(body, stream)
            stream.flush()
            os.fsync(stream.fileno())
        at("journal staged")
        os.rename(temporary, self.file)
        flush_folders([os.path.dirname(self.file)])

    def finish(self, at: At) -> None:
        """Make every move that is left. Safe to do again from the start, however far it came."""
        for number, move in enumerate(self.moves, start=1):
            move.make()
            at(f"move {number} of {len(self.moves)}")
        self._close(at)

    def undo(self) -> None:
        for move in reversed(self.moves):
            move.undo()
        self._close(lambda _: None)

    def _close(self, at: At) -> None:
        flush_folders(folder for move in self.moves if os.path.isdir(folder := os.path.dirname(move.final)))
        at("moves flushed")
        os.unlink(self.file)
        flush_folders([os.path.dirname(self.file)])
        at("journal removed")
        sweep(self.stages)


def recover(scope: InstallScope, at: At = lambda _: None) -> bool:
    """Finish an installation that was decided and never finished. True if there was one. The scope must be held."""
    journal = read_journal(scope)
    if journal is None:
        return False
    journal.finish(at)
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
    # A cloned project may carry a journal: it must not name anything that an installation could not have named.
    parents = scope.parents
    for stage in stages:
        if os.path.dirname(stage) not in (*parents, scope.root) or not os.path.basename(stage).startswith(STAGE_PREFIX):
            raise _refused(scope, f"names {stage!r}, which is no place of ours")
    for move in moves:
        inside = any(os.path.dirname(move.staged) in (stage, os.path.join(stage, _INNER)) for stage in stages)
        if not inside or not _is_ours(move.final, parents, scope.lock_file):
            raise _refused(scope, f"names {move.final!r}, which is no place of ours")
    return Journal(scope.journal, stages, moves)


def _is_ours(final: str, parents: frozenset[str], lock_file: str) -> bool:
    name = re.sub(r"\.orig(\.\d+)?$", "", os.path.basename(final))
    return final == lock_file or (os.path.dirname(final) in parents and is_name(name))


def _refused(scope: InstallScope, what: str) -> RefusedError:
    return RefusedError(f"{scope.journal} {what}", rule="journal",
                   hint="if you did not write it, delete it; `metier doctor --repair` does the same")  # fmt: skip


@contextmanager
def stage_below(parent: str, scope: InstallScope, at: At = lambda _: None) -> Iterator[tuple[str, str]]:
    """A folder for staging in `parent` and its hidden inside, marked as in use until this ends, however it ends."""
    os.makedirs(parent, exist_ok=True)
    with _alone_in(parent, scope):
        stage = _made_in(parent)
        try:
            at(f"stage begun in {os.path.basename(parent)}")
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
    """Staging folders that nobody uses any more: their process was killed, and with it went its mark."""
    found: list[str] = []
    for parent in (*scope.parents, scope.root):
        try:
            names = [name for name in os.listdir(parent) if name.startswith(STAGE_PREFIX)]
            if names:
                with _alone_in(parent, scope):
                    found += [stage for name in names if not _is_in_use(stage := os.path.join(parent, name))]
        except OSError:
            continue
    return sorted(found)


@contextmanager
def _alone_in(parent: str, scope: InstallScope) -> Iterator[None]:
    """Between its making and its mark a staging folder looks abandoned; so nobody looks while somebody makes one."""
    if parent == scope.root:
        # Whoever stages there holds the whole scope.
        yield
        return
    descriptor = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            # Some network file systems lock no folders; there the moment stays unguarded.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _made_in(parent: str) -> str:
    """A new folder that nobody else has, or may look into."""
    while True:
        stage = os.path.join(parent, STAGE_PREFIX + os.urandom(4).hex())
        with contextlib.suppress(FileExistsError):
            os.mkdir(stage, 0o700)
            return stage


def sweep(stages: Sequence[str]) -> None:
    for stage in stages:
        try:
            # All there is once everything new has taken its place.
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
    """The two names change places in one step where the system can do that, and in several where it cannot."""
    if not _exchanged_at_once(one, other):
        # A crash in between leaves a gap, which whoever finishes the journal closes.
        aside = f"{one}.old"
        os.rename(other, aside)
        os.rename(one, other)
        os.rename(aside, one)


def _exchanged_at_once(one: str, other: str) -> bool:
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
