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
from metier.values import replace

from .journal import Checkpoint, Journal, Move, ignore_checkpoint, inode_of, recover
from .stage import flush, old_times, write_copy, write_skills
from .stage_folder import StageFolder, make_stage, sweep_leftovers
from .steps import InstallStep, Verb, refuse_conflicts

__all__ = ["apply", "hold_scope"]

_WRITES = (Verb.INSTALL, Verb.UPDATE, Verb.COPY)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
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
    records: Mapping[str, bytes] | None = None,
    checkpoint: Checkpoint = ignore_checkpoint,
) -> tuple[tuple[str, str], ...]:
    """Applies the steps and writes the lock. The scope must be held. Returns what was saved, as (from, to).

    `records` are small files to write in the same transaction, by path.
    """
    refuse_conflicts(steps)
    sweep_leftovers(scope)
    with ExitStack() as stack:
        staging = _Staging(scope, stack, checkpoint)
        try:
            staging.stage(steps, skills)
            for path, data in (records or {}).items():
                staging.stage_file(path, data)
            staging.stage_file(scope.lock_file, render_lock(lock).encode())
            checkpoint("staged")
            flush(stage.path for stage in staging.stages.values())
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
        for stage in journal.stages:
            stage.sweep()
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
        self.stages: dict[str, StageFolder] = {}
        self.moves: list[Move] = []
        self.saved: list[tuple[str, str]] = []

    def stage_of(self, final: str) -> StageFolder:
        parent = os.path.dirname(final)
        if parent not in self.stages:
            self.checkpoint(f"stage begun in {os.path.basename(parent) or parent}")
            self.stages[parent] = stage = make_stage(parent, self.scope)
            self.stack.callback(stage.close)
            self.checkpoint(f"stage made in {os.path.basename(parent) or parent}")
        return self.stages[parent]

    def add_move(self, final: str) -> Move:
        """Plans the exchange of `final` with what the caller stages under the name of the move."""
        move = Move(stage=self.stage_of(final), staged=str(len(self.moves)), final=os.path.basename(final))
        self.moves.append(move)
        return move

    def stage(self, steps: Sequence[InstallStep], skills: Mapping[str, Files]) -> None:
        # Everything is opened before anything is written, so that a link out of the project costs no work.
        for path in (self.scope.lock_file, *(step.path for step in steps)):
            self.stage_of(path)
        writes = []
        for step in steps:
            if step.verb is Verb.SAVE:
                final = self._free_name(step.target)
                self._copy(step.path, final)
                self.saved.append((step.path, final))
                continue
            if step.verb in (Verb.BACKUP, Verb.RESTORE):
                self._copy(*(step.path, step.target) if step.verb is Verb.BACKUP else (step.target, step.path))
                continue
            move = self.add_move(step.path)
            if step.verb in _WRITES:
                times = old_times(step.path, skills[step.name])
                writes.append((move.stage.inner, move.staged, skills[step.name], times))
            elif step.verb is Verb.LINK:
                os.symlink(step.target, move.staged, dir_fd=move.stage.inner)
        write_skills(writes, self.checkpoint)
        self.checkpoint("skills written")

    def stage_file(self, path: str, data: bytes) -> None:
        move = self.add_move(path)
        mode = 0o600 if self.scope.level is ScopeLevel.USER else 0o644
        descriptor = os.open(move.staged, _NEW, mode, dir_fd=move.stage.inner)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)

    def journal(self) -> Journal:
        moves = (
            replace(move, inode=inode_of(move.staged, move.stage.inner), old=inode_of(move.final, move.stage.outer))
            for move in self.moves
        )
        return Journal(self.scope, tuple(self.stages.values()), tuple(moves))

    def clear(self) -> None:
        for stage in self.stages.values():
            stage.sweep()

    def _copy(self, source: str, final: str) -> None:
        """Copies and does not move: nothing may change before the journal is written."""
        move = self.add_move(final)
        write_copy(self.stage_of(source).outer, os.path.basename(source), move.stage.inner, move.staged)

    def _free_name(self, name: str) -> str:
        taken = {move.path for move in self.moves}
        final, number = os.path.join(self.scope.kept, name), 1
        while os.path.lexists(final) or final in taken:
            number += 1
            final = os.path.join(self.scope.kept, f"{name}.{number}")
        return final


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
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(f"{scope.lock_file}.lock", flags, 0o600)
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
