"""All the processes that came out of one run: how many, how much memory they hold, and their end.

A process group is not enough: `setsid` leaves it. We are the subreaper of the run, so whatever its processes leave behind
becomes our child, and a child cannot hide from its parent.
"""

from __future__ import annotations

import os
import signal
import time
from typing import NamedTuple

__all__ = ["Ended", "TreeUsage", "end", "reap", "usage"]

_PAGE = os.sysconf("SC_PAGE_SIZE")
_SLOWEST_SWEEP = 0.05


class TreeUsage(NamedTuple):
    tasks: int
    """Processes and threads, as the kernel's own limit counts them."""
    memory: int
    """Bytes that they hold and share with nobody."""


class Ended(NamedTuple):
    """What waiting told: the status of the process asked for, the most memory that one process held, whether all are gone."""

    status: int | None = None
    peak: int = 0
    all_gone: bool = False


def usage(root: int) -> TreeUsage:
    """Of all descendants of `root`, without itself."""
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


def reap(main: int, so_far: Ended) -> Ended:
    """Take note of every child that has ended, without waiting for any."""
    status, peak, _ = so_far
    while True:
        try:
            pid, found, used = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return Ended(status, peak, all_gone=True)
        if pid == 0:
            return Ended(status, peak)
        peak = max(peak, used.ru_maxrss * 1024)
        if pid == main:
            status = found


def end(main: int, so_far: Ended) -> Ended:
    """Kill all that is left below us, until nothing is; processes that fork while we look are found in the next sweep."""
    pause = 0.0005
    own = os.getpid()
    while not (so_far := reap(main, so_far)).all_gone:
        for pid in _descendants(own):
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue  # gone, or not yet to be seen as ours: the next sweep knows
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
    """FileNotFoundError only where this kernel does not list children at all."""
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
