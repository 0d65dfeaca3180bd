"""Steps to the disk, whole or not at all: stage, flush, decide, rename, lock last.

Whatever needs space or can fail is done before the journal is written: files, links, copies and the new lock file lie
ready beside their places. What follows are renames. `kill -9`, a full disk or Ctrl-C before the journal leave the old
state, after it the new one, and `recover` finishes what a killed process left.
"""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from metier.install.lock.lock_file import Lock, render_lock
from metier.install.targets.scope import InstallScope, ScopeLevel
from metier.spec import Files

from .journal import At, Journal, Move, leftovers, recover, stage_below, sweep
from .stage import flush, old_times, write_copy, write_skills
from .steps import InstallStep, Verb, refuse_conflicts

__all__ = ["apply", "held"]

_WRITES = (Verb.INSTALL, Verb.UPDATE, Verb.COPY)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def nowhere(point: str) -> None:
    """Nobody watches."""


@contextmanager
def held(scope: InstallScope, at: At = nowhere) -> Iterator[None]:
    """Only one installer at a time in this scope, and what the last one could not finish is finished first."""
    os.makedirs(scope.root, mode=0o700 if scope.level is ScopeLevel.USER else 0o755, exist_ok=True)
    with _locked_folder(scope):
        recover(scope, at)
        at("held")
        yield


def apply(
    steps: Sequence[InstallStep], skills: Mapping[str, Files], lock: Lock, scope: InstallScope, *, at: At = nowhere,
    agreed: Callable[[], None] = lambda: None,
) -> tuple[tuple[str, str], ...]:  # fmt: skip
    """Do the steps and write the lock; the scope must be held. What was kept comes back as (what, where).

    `agreed` is asked last before it is decided; if it raises, nothing has happened.
    """
    refuse_conflicts(steps)
    sweep(leftovers(scope))
    with ExitStack() as stack:
        bench = _Bench(scope, stack, at)
        try:
            bench.stage(steps, skills)
            bench.stage_lock(lock)
            at("staged")
            flush(stage for stage, _ in bench.stages.values())
            at("flushed")
            agreed()
            journal = bench.journal()
        except BaseException:
            bench.clear()
            raise
        with _undisturbed():
            _decide(journal, at)
        at("swept")
    return tuple(bench.saved)


def _decide(journal: Journal, at: At) -> None:
    try:
        journal.write(at)
    except BaseException:
        sweep(journal.stages)
        raise
    at("journal written")
    try:
        journal.finish(at)
    except OSError:
        # A disk that refuses a rename: back to where we were. Should that fail too, the journal stays for the next one.
        journal.undo()
        raise


class _Bench:
    """Where the new state is laid out, one staging folder beside each place that changes."""

    def __init__(self, scope: InstallScope, stack: ExitStack, at: At) -> None:
        self.scope, self.stack, self.at = scope, stack, at
        self.stages: dict[str, tuple[str, str]] = {}
        self.moves: list[Move] = []
        self.saved: list[tuple[str, str]] = []

    def place_for(self, final: str) -> str:
        parent = os.path.dirname(final)
        if parent not in self.stages:
            self.stages[parent] = self.stack.enter_context(stage_below(parent, self.scope, self.at))
            self.at(f"stage made in {os.path.basename(parent) or parent}")
        return os.path.join(self.stages[parent][1], str(len(self.moves)))

    def stage(self, steps: Sequence[InstallStep], skills: Mapping[str, Files]) -> None:
        # First, because the journal is written there.
        self.place_for(self.scope.lock_file)
        writes = []
        for step in steps:
            if step.verb is Verb.SAVE:
                self._save(step)
                continue
            if step.verb is Verb.KEEP:
                continue
            staged = self.place_for(step.path)
            if step.verb in _WRITES:
                writes.append((staged, skills[step.name], old_times(step.path, skills[step.name])))
            elif step.verb is Verb.LINK:
                os.symlink(step.target, staged)
            self.moves.append(Move(staged, step.path))
        write_skills(writes, self.at)
        self.at("skills written")

    def stage_lock(self, lock: Lock) -> None:
        staged = self.place_for(self.scope.lock_file)
        mode = 0o600 if self.scope.level is ScopeLevel.USER else 0o644
        descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(render_lock(lock).encode())
        self.moves.append(Move(staged, self.scope.lock_file))

    def journal(self) -> Journal:
        moves = (Move(move.staged, move.final, _inode(move.staged)) for move in self.moves)
        return Journal(self.scope.journal, tuple(stage for stage, _ in self.stages.values()), tuple(moves))

    def clear(self) -> None:
        sweep([stage for stage, _ in self.stages.values()])

    def _save(self, step: InstallStep) -> None:
        """Copied, not moved: until the journal is written nothing that stands may change."""
        final = self._free_name(step.target)
        staged = self.place_for(final)
        write_copy(step.path, staged)
        self.moves.append(Move(staged, final))
        self.saved.append((step.path, final))

    def _free_name(self, name: str) -> str:
        taken = {move.final for move in self.moves}
        final, number = os.path.join(self.scope.kept, name), 1
        while os.path.lexists(final) or final in taken:
            number += 1
            final = os.path.join(self.scope.kept, f"{name}.{number}")
        return final


def _inode(staged: str) -> int:
    try:
        return os.lstat(staged).st_ino
    except FileNotFoundError:
        # Nothing was staged: the path only goes.
        return 0


@contextmanager
def _locked_folder(scope: InstallScope) -> Iterator[None]:
    """A lock on the folder itself leaves no file behind in somebody's project."""
    descriptor = os.open(scope.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            # Some network file systems lock only files that are open for writing.
            os.close(descriptor)
            descriptor = os.open(f"{scope.lock_file}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Between the decision and the last rename there are a few milliseconds, and Ctrl-C can wait for them."""
    if threading.current_thread() is not threading.main_thread():
        # Python runs no handler here, so nothing can interrupt us.
        yield
        return
    came: list[int] = []
    # Handlers, not a mask: a mask is each thread's own, and a writer that is just ending would take the signal.
    before = {each: signal.signal(each, lambda number, _frame: came.append(number)) for each in _SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        for number in came:
            os.kill(os.getpid(), number)
