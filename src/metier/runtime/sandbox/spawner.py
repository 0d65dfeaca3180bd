"""The small process that starts scripts: it forks a supervisor for each.

The caller's own process cannot do it well. It may have threads, and code between fork and exec may then hang; it may
be large, and a fork then is slow; it may be killed, and somebody must be left to clear up. A fresh Python for each run costs
20 ms, so one is kept, and forked; and one fork is always made ahead, so that a run finds its supervisor waiting.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys

from .supervisor import supervise

__all__ = ["main"]


def main(descriptor: int, caller: int) -> None:
    """Serve until the caller hangs up or is gone."""
    os.setsid()
    os.set_inheritable(descriptor, False)
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    host = _watch(caller)
    if sys.platform == "linux":
        # Loaded before the first fork, so that no run pays for it.
        from . import kernel, landlock

        landlock.abi()
        kernel.adopt_orphans()
    gc.collect()
    gc.freeze()
    gc.disable()
    wake, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    _serve(_Pool(descriptor, host), wake)


class _Pool:
    """The supervisors that are at work, and the one that waits."""

    def __init__(self, descriptor: int, host: int) -> None:
        self.descriptor = descriptor
        self.host = host
        self.taken, self._take = os.pipe()
        self.pids: set[int] = set()
        self.waiting = 0
        self.told = False

    def add(self) -> None:
        self.waiting = os.fork()
        if self.waiting == 0:
            try:
                self._wait()
            finally:
                os._exit(0)
        self.pids.add(self.waiting)

    def _wait(self) -> None:
        link = socket.socket(fileno=self.descriptor)
        message, descriptors, _, _ = socket.recv_fds(link, 1, 1)
        if not message or not descriptors:
            return
        link.detach()
        os.set_inheritable(descriptors[0], False)  # a received descriptor is not, by itself: the script must not have it
        if select.select([self.descriptor], [], [], 0)[0]:
            self._tell()
        with socket.socket(fileno=descriptors[0]) as run:
            supervise(run, self.host, self._tell)

    def _tell(self) -> None:
        """That we are at work. With nobody else in the queue only after the start: the next fork is not to be in its way."""
        if not self.told:
            self.told = True
            os.close(self.descriptor)
            os.write(self._take, b"!")

    def clear_up(self) -> None:
        """Reap supervisors; if one was killed from outside, what it watched is ours now, and ends."""
        lost = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid in self.pids:
                self.pids.discard(pid)
                lost = lost or os.WIFSIGNALED(status)
        if lost:
            self._end_strays()

    def _end_strays(self) -> None:
        try:
            with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
                strays = set(map(int, file.read().split())) - self.pids
        except OSError:
            return
        for pid in strays:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue


def _serve(pool: _Pool, wake: int) -> None:
    poll = select.poll()
    poll.register(pool.descriptor, 0)  # whoever waits takes what comes; we only want to know when the caller hangs up
    for source in (wake, pool.taken, pool.host):
        if source >= 0:
            poll.register(source, select.POLLIN)
    pool.add()
    while True:
        ready = [found for found, _ in poll.poll()]
        if pool.descriptor in ready or pool.host in ready:
            return
        if pool.taken in ready:
            os.read(pool.taken, 1)
            pool.add()
        if wake in ready:
            os.read(wake, 4096)
            pool.clear_up()
            if pool.waiting not in pool.pids:
                pool.add()


def _watch(caller: int) -> int:
    """A descriptor that can be read once the caller ends, even if a fork of it still holds our socket; -1 if there is none."""
    if sys.platform != "linux":
        return -1
    try:
        host = os.pidfd_open(caller)
    except OSError:
        return -1
    if os.getppid() != caller:
        sys.exit(0)
    return host
