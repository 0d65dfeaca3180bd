"""The supervisors of a spawner: the busy ones, one that waits for the next run, and what a killed one leaves behind."""

from __future__ import annotations

import json
import os
import select
import socket
import sys

from metier.runtime.readable import wait_readable

from . import process_tree as tree
from . import scratch
from .cgroup import CgroupParent, remove_leaf
from .starter import Starter
from .supervisor import read_request, supervise

__all__ = ["Pool"]

_SWEEP = 5
"""Milliseconds between two sweeps, while processes of a killed supervisor are left."""
_IDLE = 0.02
"""Seconds after which a waiting supervisor prepares the start of a script, when no other run needs the processor."""
_ATOMIC = 4096
"""Bytes that a pipe takes in one piece."""


class Pool:
    def __init__(self, descriptor: int, caller: int, parent: CgroupParent | None) -> None:
        self.descriptor = descriptor
        self.caller = caller
        self.parent = parent
        self.pids: set[int] = set()
        """Our children: supervisors and cleaners. Every other child is an orphan of a killed supervisor."""
        self.waiting = 0
        self.is_reported = False
        self.taken, self._take = os.pipe()
        self.records, self._record = os.pipe()
        os.set_blocking(self.records, False)
        self.folders: dict[int, list[str]] = {}
        """The scratch folder and the cgroup of each supervisor that lives."""
        self.abandoned: list[str] = []
        self.searched: set[str] = set()

    def serve(self, wake: int) -> None:
        poll = select.poll()
        poll.register(self.descriptor, 0)  # the waiting supervisor reads it; we only watch for the end of the connection
        for source in (wake, self.taken, self.caller):
            if source >= 0:
                poll.register(source, select.POLLIN)
        self._fork_supervisor()
        has_ended = is_clean = False
        while not (has_ended and is_clean and not self.pids):
            ready = [found for found, _ in poll.poll(None if is_clean else _SWEEP)]
            if not has_ended and (self.descriptor in ready or self.caller in ready):
                has_ended = True
                for source in filter(lambda each: each >= 0, (self.descriptor, self.caller)):
                    poll.unregister(source)
            if wake in ready:
                os.read(wake, 4096)
            self._read_records()
            self._reap()
            is_clean = self._clean_up()
            if self.taken in ready:
                os.read(self.taken, 1)
                self.waiting = 0
            if not has_ended and self.waiting not in self.pids:
                self._fork_supervisor()

    def _fork(self) -> int:
        pid = os.fork()
        if pid:
            self.pids.add(pid)
        return pid

    def _fork_supervisor(self) -> None:
        self.waiting = self._fork()
        if self.waiting == 0:
            try:
                self._supervise()
            finally:
                os._exit(0)

    def _supervise(self) -> None:
        """Waits for a run and supervises it, in a process of its own."""
        if sys.platform == "linux":
            from .kernel import adopt_orphans

            adopt_orphans()
        sources = [each for each in (self.descriptor, self.caller) if each >= 0]
        starter = None if wait_readable(sources, _IDLE) else self._new_starter()
        connection = self._next_connection(sources)
        if connection is None:
            if starter:
                starter.discard()
            return
        if wait_readable([self.descriptor], 0):
            self._report_busy()
        with connection:
            request = read_request(connection)
            if not starter or (starter.leaf and not request["cgroup"]):
                starter = self._new_starter(starter, with_cgroup=request["cgroup"])
            if request["base"]:
                self._note(request["base"])
            supervise(connection, self.caller, request, starter, self._report_busy)

    def _new_starter(self, unused: Starter | None = None, *, with_cgroup: bool = True) -> Starter:
        if unused:
            unused.discard()
        starter = Starter(self.parent if with_cgroup else None)
        for folder in starter.leaf.folders if starter.leaf else ():
            self._note(folder)
        return starter

    def _next_connection(self, sources: list[int]) -> socket.socket | None:
        """Returns the connection of the next run, or None if the caller has ended, even if a fork of it has our socket."""
        if self.descriptor not in wait_readable(sources):
            return None
        link = socket.socket(fileno=self.descriptor)
        message, descriptors, _, _ = socket.recv_fds(link, 1, 1)
        link.detach()
        if not message or not descriptors:
            return None
        os.set_inheritable(descriptors[0], False)  # the script must not inherit it
        return socket.socket(fileno=descriptors[0])

    def _report_busy(self) -> None:
        """Reports that this supervisor is busy. Without a queue, only after the script has started: a fork would delay it."""
        if not self.is_reported:
            self.is_reported = True
            os.close(self.descriptor)
            os.write(self._take, b"!")

    def _note(self, folder: str) -> None:
        """Tells the spawner which folder to remove if this supervisor is killed."""
        line = json.dumps([os.getpid(), folder]).encode() + b"\n"
        if len(line) <= _ATOMIC:
            os.write(self._record, line)

    def _read_records(self) -> None:
        try:
            lines = os.read(self.records, 1 << 20).splitlines()
        except BlockingIOError:
            return
        for line in lines:
            pid, folder = json.loads(line)
            self.folders.setdefault(pid, []).append(folder)
            above = os.path.dirname(folder)
            if scratch.is_run_folder(folder) and above not in self.searched:
                self.searched.add(above)
                self._fork_cleaner(above=above)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.pids.discard(pid)
            folders = self.folders.pop(pid, [])
            if os.WIFSIGNALED(status):
                self.abandoned += folders

    def _clean_up(self) -> bool:
        """Ends the processes of killed supervisors, then removes their folders. Returns False while some are left."""
        orphans = [pid for pid in tree.children(os.getpid()) if pid not in self.pids]
        if orphans:
            tree.kill([*orphans, *(below for pid in orphans for below in tree.descendants(pid))])
            return False
        if self.abandoned:
            self._fork_cleaner(folders=self.abandoned)
            self.abandoned = []
        return True

    def _fork_cleaner(self, *, folders: list[str] | None = None, above: str = "") -> None:
        """Removes folders in a process of its own: a large one takes a while, and no run should wait for it."""
        if self._fork():
            return
        try:
            for folder in folders or ():
                scratch.remove(folder) if scratch.is_run_folder(folder) else remove_leaf(folder)
            if above:
                scratch.remove_abandoned(above)
        finally:
            os._exit(0)
