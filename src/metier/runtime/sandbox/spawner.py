"""The small process that starts scripts: it forks a supervisor for each run.

The caller's process is not suited to that. It may have threads, and code between fork and exec may then hang. It may be large,
and a fork is then slow. It may be killed, and its runs must still be ended. Starting Python for each run would cost 20 ms, so
this process stays, and forks. One supervisor is always forked in advance and waits for the next run.
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
    """Serves until the caller closes the connection or ends."""
    os.setsid()
    os.set_inheritable(descriptor, False)
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    caller_pidfd = _watch(caller)
    if sys.platform == "linux":
        # Imported before the first fork, so that no run pays for it.
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
    _serve(_Pool(descriptor, caller_pidfd), wake)


class _Pool:
    """The busy supervisors, and the one that waits for a run."""

    def __init__(self, descriptor: int, caller_pidfd: int) -> None:
        self.descriptor = descriptor
        self.caller_pidfd = caller_pidfd
        self.taken, self._take = os.pipe()
        self.pids: set[int] = set()
        self.waiting = 0
        self.is_reported = False

    def add(self) -> None:
        self.waiting = os.fork()
        if self.waiting == 0:
            try:
                self._wait()
            finally:
                os._exit(0)
        self.pids.add(self.waiting)

    def _wait(self) -> None:
        connection = socket.socket(fileno=self.descriptor)
        message, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
        if not message or not descriptors:
            return
        connection.detach()
        os.set_inheritable(descriptors[0], False)  # the script must not inherit it
        if select.select([self.descriptor], [], [], 0)[0]:
            self._report_busy()
        with socket.socket(fileno=descriptors[0]) as run:
            supervise(run, self.caller_pidfd, self._report_busy)

    def _report_busy(self) -> None:
        """Reports that this supervisor is busy. Without a queue, only after the script has started: a fork would delay it."""
        if not self.is_reported:
            self.is_reported = True
            os.close(self.descriptor)
            os.write(self._take, b"!")

    def reap(self) -> None:
        """Reaps supervisors. If one was killed, its processes are our children now, and are killed."""
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
            self._kill_orphans()

    def _kill_orphans(self) -> None:
        try:
            with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
                orphans = set(map(int, file.read().split())) - self.pids
        except OSError:
            return
        for pid in orphans:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue


def _serve(pool: _Pool, wake: int) -> None:
    poll = select.poll()
    poll.register(pool.descriptor, 0)  # the waiting supervisor reads it; we only watch for the end of the connection
    for source in (wake, pool.taken, pool.caller_pidfd):
        if source >= 0:
            poll.register(source, select.POLLIN)
    pool.add()
    while True:
        ready = [found for found, _ in poll.poll()]
        if pool.descriptor in ready or pool.caller_pidfd in ready:
            return
        if pool.taken in ready:
            os.read(pool.taken, 1)
            pool.add()
        if wake in ready:
            os.read(wake, 4096)
            pool.reap()
            if pool.waiting not in pool.pids:
                pool.add()


def _watch(caller: int) -> int:
    """Returns a pidfd that is readable once the caller ends, even if a fork of it still holds our socket; -1 without pidfd."""
    if sys.platform != "linux":
        return -1
    try:
        caller_pidfd = os.pidfd_open(caller)
    except OSError:
        return -1
    if os.getppid() != caller:
        sys.exit(0)
    return caller_pidfd
