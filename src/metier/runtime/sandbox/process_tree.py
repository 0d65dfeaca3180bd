"""All processes of one run, and their end.

A process group is not enough: `setsid` leaves it. The supervisor is the subreaper of the run, so orphans become its children,
and a child cannot hide from its parent.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["ExitState", "children", "descendants", "end", "kill", "reap"]

_SLOWEST_SWEEP = 0.05
_REAPED_AT_ONCE = 500
"""A script that starts processes as fast as they are reaped must not keep its supervisor from watching it."""


class ExitState(NamedTuple):
    """The exit status of the main process, the peak memory of the largest process, and whether all have ended."""

    status: int | None = None
    peak: int = 0
    all_ended: bool = False


def reap(main: int, so_far: ExitState) -> ExitState:
    """Reaps children that have ended, without waiting."""
    status, peak, _ = so_far
    for _ in range(_REAPED_AT_ONCE):
        try:
            pid, found, used = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return ExitState(status, peak, all_ended=True)
        if pid == 0:
            return ExitState(status, peak)
        peak = max(peak, used.ru_maxrss * 1024)
        if pid == main:
            status = found
    return ExitState(status, peak)


def end(main: int, so_far: ExitState) -> ExitState:
    """Kills all descendants until none is left. Processes that fork meanwhile are found in the next sweep."""
    pause = 0.0005
    own = os.getpid()
    while not (so_far := reap(main, so_far)).all_ended:
        kill(descendants(own))
        time.sleep(pause)
        pause = min(pause * 1.5, _SLOWEST_SWEEP)
    return so_far


def kill(pids: Iterable[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue  # it has ended, or the next sweep finds it


def descendants(root: int) -> list[int]:
    """Returns all processes below `root`, without itself."""
    found, pending = [], [root]
    try:
        while pending:
            below = children(pending.pop())
            found += below
            pending += below
    except FileNotFoundError:
        return _descendants_by_parent(root)
    return found


def children(pid: int) -> list[int]:
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
