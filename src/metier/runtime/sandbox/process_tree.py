"""All processes of one run: their number, their memory, and their end.

A process group is not enough: `setsid` leaves it. The supervisor is the subreaper of the run, so orphans become its children,
and a child cannot hide from its parent.
"""

from __future__ import annotations

import os
import signal
import time
from typing import NamedTuple

__all__ = ["ExitState", "TreeUsage", "end", "measure", "reap"]

_PAGE = os.sysconf("SC_PAGE_SIZE")
_SLOWEST_SWEEP = 0.05


class TreeUsage(NamedTuple):
    tasks: int
    """Processes and threads, as the kernel's limit counts them."""
    memory: int
    """Bytes of private memory."""


class ExitState(NamedTuple):
    """The exit status of the main process, the peak memory of the largest process, and whether all have ended."""

    status: int | None = None
    peak: int = 0
    all_ended: bool = False


def measure(root: int) -> TreeUsage:
    """Returns the usage of all descendants of `root`, without itself."""
    tasks = memory = 0
    for pid in _descendants(root):
        try:
            tasks += len(os.listdir(f"/proc/{pid}/task"))
            with open(f"/proc/{pid}/statm", "rb") as file:
                words = file.read().split()
            memory += (int(words[1]) - int(words[2])) * _PAGE
        except (OSError, IndexError):
            continue  # it ended meanwhile
    return TreeUsage(tasks, memory)


def reap(main: int, so_far: ExitState) -> ExitState:
    """Reaps every child that has ended, without waiting."""
    status, peak, _ = so_far
    while True:
        try:
            pid, found, used = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return ExitState(status, peak, all_ended=True)
        if pid == 0:
            return ExitState(status, peak)
        peak = max(peak, used.ru_maxrss * 1024)
        if pid == main:
            status = found


def end(main: int, so_far: ExitState) -> ExitState:
    """Kills all descendants until none is left. Processes that fork meanwhile are found in the next sweep."""
    pause = 0.0005
    own = os.getpid()
    while not (so_far := reap(main, so_far)).all_ended:
        for pid in _descendants(own):
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue  # it has ended, or the next sweep finds it
        time.sleep(pause)
        pause = min(pause * 1.5, _SLOWEST_SWEEP)
    return so_far


def _descendants(root: int) -> list[int]:
    found, pending = [], [root]
    try:
        while pending:
            below = _children(pending.pop())
            found += below
            pending += below
    except FileNotFoundError:
        return _descendants_by_parent(root)
    return found


def _children(pid: int) -> list[int]:
    """Raises FileNotFoundError only if this kernel does not list children."""
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
        except (ProcessLookupError, PermissionError):
            continue
        except FileNotFoundError:
            if pid == os.getpid():
                raise
    return found


def _descendants_by_parent(root: int) -> list[int]:
    below: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, IndexError):
            continue
        below.setdefault(parent, []).append(int(name))
    found, pending = [], [root]
    while pending:
        children = below.get(pending.pop(), [])
        found += children
        pending += children
    return found
