"""The journal: the list of renames that commits an installation.

Everything new is first written and flushed beside its final path. Then one small file, the journal, lists the renames that are
left. Once it is on the disk the installation is committed, and the next installer finishes it if this process dies. Before
that, staged files are garbage. The kernel exchanges two names in one step, so a skill is never half there.

The journal is in metier's home, because one in a project could come with a clone. It records the inode of everything that it
will touch; recovery leaves alone what has been replaced since.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Sequence

from metier.errors import RefusedError
from metier.install.targets.scope import InstallScope
from metier.sources import read_regular, replace_text
from metier.values import dataclass

from .exchange import exchange
from .stage_folder import StageFolder, open_stage

__all__ = ["Checkpoint", "Journal", "Move", "ignore_checkpoint", "inode_of", "recover"]

Checkpoint = Callable[[str], None]
"""Called at each named point of an installation; a test kills the process there."""


def ignore_checkpoint(point: str) -> None:
    """The default outside of tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Exchanges a staged file or folder and the final one; with nothing staged, the final one is removed."""

    stage: StageFolder
    staged: str
    """Its name in the staging folder."""
    final: str
    """Its name in the folder of the stage."""
    inode: int = 0
    """The inode of what is staged, which tells whether the move was made; 0 for a removal."""
    old: int | None = 0
    """The inode of what was at the final path; 0 for nothing, None if unknown."""

    @property
    def is_done(self) -> bool:
        return self._current == self.inode

    @property
    def path(self) -> str:
        return os.path.join(self.stage.parent, self.final)

    def make(self) -> None:
        """Raises OSError if something else is at the final path by now."""
        current = self._current
        if current == self.inode:
            return
        if current and self.old is not None and current != self.old:
            raise OSError(errno.EBUSY, "it was replaced by another program meanwhile", self.path)
        if not self.inode:
            os.rename(self.final, self.staged, src_dir_fd=self.stage.outer, dst_dir_fd=self.stage.inner)
        elif current:
            exchange(self.staged, self.stage.inner, self.final, self.stage.outer)
        else:
            os.rename(self.staged, self.final, src_dir_fd=self.stage.inner, dst_dir_fd=self.stage.outer)

    def undo(self) -> None:
        if not self.is_done:
            return
        is_staged = inode_of(self.staged, self.stage.inner)
        if not self.inode:
            if is_staged:
                os.rename(self.staged, self.final, src_dir_fd=self.stage.inner, dst_dir_fd=self.stage.outer)
        elif is_staged:
            exchange(self.staged, self.stage.inner, self.final, self.stage.outer)
        else:
            os.rename(self.final, self.staged, src_dir_fd=self.stage.outer, dst_dir_fd=self.stage.inner)

    @property
    def _current(self) -> int:
        return inode_of(self.final, self.stage.outer)


@dataclass(frozen=True, slots=True)
class Journal:
    scope: InstallScope
    stages: tuple[StageFolder, ...]
    moves: tuple[Move, ...]
    """In order; the lock file comes last."""

    def write(self, checkpoint: Checkpoint) -> None:
        stages = [[stage.parent, stage.name, stage.inode] for stage in self.stages]
        moves = [[self.stages.index(move.stage), move.staged, move.final, move.inode, move.old] for move in self.moves]
        body = {"version": 2, "root": _inode(self.scope.root), "stages": stages, "moves": moves}
        checkpoint("journal staged")
        replace_text(self.scope.journal, json.dumps(body))
        _flush_path(os.path.dirname(self.scope.journal))

    def finish(self, checkpoint: Checkpoint) -> None:
        """Makes all moves."""
        for number, move in enumerate(self.moves, start=1):
            move.make()
            checkpoint(f"move {number} of {len(self.moves)}")
        self._close(checkpoint)

    def resume(self, checkpoint: Checkpoint) -> None:
        """Makes the remaining moves after a crash. A path that was replaced since stays as it is, and shows as edited."""
        for move in self.moves:
            try:
                move.make()
            except OSError as error:
                if error.errno not in (errno.EBUSY, errno.ENOENT):
                    raise
            checkpoint("move resumed")
        self._close(checkpoint)

    def undo(self) -> None:
        for move in reversed(self.moves):
            move.undo()
        self._close(ignore_checkpoint)

    def _close(self, checkpoint: Checkpoint) -> None:
        for stage in self.stages:
            os.fsync(stage.outer)
        checkpoint("moves flushed")
        os.unlink(self.scope.journal)
        _flush_path(os.path.dirname(self.scope.journal))
        checkpoint("journal removed")
        for stage in self.stages:
            stage.sweep()


def recover(scope: InstallScope, checkpoint: Checkpoint = ignore_checkpoint) -> bool:
    """Finishes an interrupted installation. Returns True if there was one. The scope must be held."""
    try:
        text = read_regular(scope.journal)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _refused(scope, f"cannot be read: {error.strerror}") from error
    try:
        body = json.loads(text)
        if body["version"] == 1:
            body = _from_version_1(body)
        opened = [open_stage(str(parent), str(name), int(inode), scope) for parent, name, inode in body["stages"]]
        try:
            moves = _moves(body["moves"], opened)
            if body["root"] not in (None, _inode(scope.root)):
                # Another project is at this path now.
                moves = ()
            Journal(scope, tuple(filter(None, opened)), moves).resume(checkpoint)
        finally:
            for stage in filter(None, opened):
                stage.close()
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise _refused(scope, "is damaged") from error
    return True


def inode_of(name: str, folder: int) -> int:
    try:
        return os.lstat(name, dir_fd=folder).st_ino
    except FileNotFoundError:
        return 0


def _moves(rows: Sequence[Sequence[object]], stages: Sequence[StageFolder | None]) -> tuple[Move, ...]:
    moves: list[Move] = []
    for index, staged, final, inode, old in rows:
        if not isinstance(index, int) or not isinstance(inode, int) or not (old is None or isinstance(old, int)):
            raise TypeError("an inode is not a number")
        if "/" in str(staged) or "/" in str(final):
            raise ValueError("a name has a slash")
        stage = stages[index]
        if stage is not None:
            moves.append(Move(stage=stage, staged=str(staged), final=str(final), inode=inode, old=old))
    return tuple(moves)


def _from_version_1(body: dict[str, list[list[object]]]) -> dict[str, object]:
    """Converts the user's own journal of version 0.1, which has paths and no inodes of what it replaces."""
    stages = [os.path.split(str(stage)) for stage in body["stages"]]
    paths = [os.path.join(parent, name) for parent, name in stages]
    rows = [[parent, name, _inode(os.path.join(parent, name))] for parent, name in stages]
    moves = [
        [paths.index(os.path.dirname(os.path.dirname(str(staged)))), os.path.basename(str(staged)),
         os.path.basename(str(final)), inode, None]
        for staged, final, inode in body["moves"]
    ]  # fmt: skip
    return {"root": None, "stages": rows, "moves": moves}


def _refused(scope: InstallScope, what: str) -> RefusedError:
    return RefusedError(f"{scope.journal} {what}", rule="journal", hint="run `metier doctor --repair`")


def _inode(path: str) -> int:
    # Not the device too: its number may differ after a restart, and the journal is for power cuts as well.
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return 0


def _flush_path(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
