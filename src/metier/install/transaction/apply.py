"""Applies steps to the disk, all or none: stage, flush, write the journal, rename; the lock file comes last.

Everything that needs space or can fail happens before the journal is written: files, links, copies and the new lock file are
staged beside their final paths. Only renames follow. `kill -9`, a full disk or Ctrl-C before the journal leave the old state,
after it the new one, and `recover` finishes what a killed process left.
"""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from metier.install.lock.lock_file import Lock, render_lock
from metier.install.targets.scope import InstallScope, ScopeLevel
from metier.spec import Files

from .journal import Checkpoint, Journal, Move, ignore_checkpoint, leftovers, recover, stage_below, sweep
from .stage import flush, old_times, write_copy, write_skills
from .steps import InstallStep, Verb, refuse_conflicts

__all__ = ["apply", "hold_scope"]

_WRITES = (Verb.INSTALL, Verb.UPDATE, Verb.COPY)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def hold_scope(scope: InstallScope, checkpoint: Checkpoint = ignore_checkpoint) -> Iterator[None]:
    """Locks the scope against other installers, and first finishes what an interrupted one left."""
    os.makedirs(scope.root, mode=0o700 if scope.level is ScopeLevel.USER else 0o755, exist_ok=True)
    with _locked_folder(scope):
        recover(scope, checkpoint)
        checkpoint("scope held")
        yield


def apply(
    steps: Sequence[InstallStep],
    skills: Mapping[str, Files],
    lock: Lock,
    scope: InstallScope,
    *,
    checkpoint: Checkpoint = ignore_checkpoint,
) -> tuple[tuple[str, str], ...]:
    """Applies the steps and writes the lock. The scope must be held. Returns what was saved, as (from, to)."""
    refuse_conflicts(steps)
    sweep(leftovers(scope))
    with ExitStack() as stack:
        staging = _Staging(scope, stack, checkpoint)
        try:
            staging.stage(steps, skills)
            staging.stage_lock(lock)
            checkpoint("staged")
            flush(stage for stage, _ in staging.stages.values())
            checkpoint("flushed")
            journal = staging.journal()
        except BaseException:
            staging.clear()
            raise
        with _signals_deferred():
            _decide(journal, checkpoint)
        checkpoint("swept")
    return tuple(staging.saved)


def _decide(journal: Journal, checkpoint: Checkpoint) -> None:
    try:
        journal.write(checkpoint)
    except BaseException:
        sweep(journal.stages)
        raise
    checkpoint("journal written")
    try:
        journal.finish(checkpoint)
    except OSError:
        # The disk refuses a rename: undo. If that fails too, the journal stays for the next installer.
        journal.undo()
        raise


class _Staging:
    """The staged new state: one staging folder beside each folder that changes."""

    def __init__(self, scope: InstallScope, stack: ExitStack, checkpoint: Checkpoint) -> None:
        self.scope, self.stack, self.checkpoint = scope, stack, checkpoint
        self.stages: dict[str, tuple[str, str]] = {}
        self.moves: list[Move] = []
        self.saved: list[tuple[str, str]] = []

    def path_for(self, final: str) -> str:
        parent = os.path.dirname(final)
        if parent not in self.stages:
            self.stages[parent] = self.stack.enter_context(stage_below(parent, self.scope, self.checkpoint))
            self.checkpoint(f"stage made in {os.path.basename(parent) or parent}")
        return os.path.join(self.stages[parent][1], str(len(self.moves)))

    def stage(self, steps: Sequence[InstallStep], skills: Mapping[str, Files]) -> None:
        # First, because the journal is written in this staging folder.
        self.path_for(self.scope.lock_file)
        writes = []
        for step in steps:
            if step.verb is Verb.SAVE:
                self._save(step)
                continue
            if step.verb is Verb.KEEP:
                continue
            staged = self.path_for(step.path)
            if step.verb in _WRITES:
                writes.append((staged, skills[step.name], old_times(step.path, skills[step.name])))
            elif step.verb is Verb.LINK:
                os.symlink(step.target, staged)
            self.moves.append(Move(staged, step.path))
        write_skills(writes, self.checkpoint)
        self.checkpoint("skills written")

    def stage_lock(self, lock: Lock) -> None:
        staged = self.path_for(self.scope.lock_file)
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
        """Copies and does not move: nothing may change before the journal is written."""
        final = self._free_name(step.target)
        staged = self.path_for(final)
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
        # Nothing is staged for a removal.
        return 0


@contextmanager
def _locked_folder(scope: InstallScope) -> Iterator[None]:
    """Locks the folder itself, which leaves no lock file in a project."""
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
def _signals_deferred() -> Iterator[None]:
    """Delays Ctrl-C and SIGTERM for the few milliseconds between the journal and the last rename."""
    if threading.current_thread() is not threading.main_thread():
        # Python runs signal handlers in the main thread only.
        yield
        return
    received: list[int] = []
    # Handlers and no mask: a mask belongs to one thread, and another thread would take the signal.
    before = {each: signal.signal(each, lambda number, _frame: received.append(number)) for each in _SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        for number in received:
            os.kill(os.getpid(), number)
