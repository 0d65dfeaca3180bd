"""Checks the limits of a run that no rlimit covers: the processes, the memory and the scratch folder of the whole tree."""

from __future__ import annotations

import os
from typing import Protocol

from . import process_tree as tree
from . import scratch
from .confinement import Request
from .memory import exact_size, find_open_files, memfd_device, read_process, shared_by_all

__all__ = ["LimitedCgroup", "UsageWatch"]

_SCRATCH_EVERY = 3
_LITTLE = 1 << 20
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class LimitedCgroup(Protocol):
    """A cgroup whose limits the kernel enforces."""

    def memory_exceeded(self) -> bool: ...


class UsageWatch:
    """Measures one run, again and again. With a cgroup the kernel limits memory and processes, and only its word is read."""

    def __init__(self, request: Request, folder: int, leaf: LimitedCgroup | None, container: int = 0) -> None:
        self.limits: dict[str, float] = request["limits"]
        self.helpers: int = request["helpers"]
        self.folder = folder
        self.written = os.open(request["written"], _DIRECTORY) if request["written"] else -1
        """The layer of the workspace, or its copy, of which the bytes and files that were `kept` at the start are free."""
        self.kept: list[int] = request["kept"]
        self.is_on_disk = request["scratch_on_disk"]
        self.container = container
        """The first process of a container, or 0. The engine's own processes do not count."""
        self.leaf = leaf
        self.checks = 0
        self.most_shared = 0
        self.machine_before = 0 if leaf else shared_by_all()

    def exceeded_limit(self) -> str:
        """Returns processes, memory or scratch, or an empty string."""
        self.checks += 1
        if self.leaf and self.leaf.memory_exceeded():
            return "memory"
        if not self.leaf and (found := self._exceeded_by_processes()):
            return found
        return "scratch" if self.checks % _SCRATCH_EVERY == 0 and self._scratch_is_full() else ""

    def _exceeded_by_processes(self) -> str:
        pids = self._processes()
        found = [each for each in map(read_process, pids) if each]
        if sum(each.tasks for each in found) > self.limits["processes"] + self.helpers:
            return "processes"
        files = find_open_files(pids)
        shared = sum(each.shared for each in found) + files.size_on(memfd_device())
        self.most_shared = max(self.most_shared, shared)
        limit = self.limits["memory_bytes"]
        if sum(each.private for each in found) + shared > limit and exact_size(pids, files) > limit:
            return "memory"
        # Shared memory can be filled and then hidden: unmapped, or sent away in a message. So a run that has had some, or hides
        # its descriptors, is stopped if that of the whole machine has grown by the limit.
        may_hide = self.most_shared > _LITTLE or not files.is_complete
        return "memory" if may_hide and shared_by_all() - self.machine_before > limit else ""

    def _processes(self) -> list[int]:
        if self.container:
            return [self.container, *tree.descendants(self.container)]
        return tree.descendants(os.getpid())

    def _scratch_is_full(self) -> bool:
        limit = int(self.limits["scratch_files"])
        if self.written >= 0:
            layer = scratch.measure(self.written, limit + self.kept[1])
            if layer.files > limit + self.kept[1] or layer.size > self.limits["scratch_bytes"] + self.kept[0]:
                return True
        if not self.is_on_disk:
            status = os.fstatvfs(self.folder)
            return status.f_files - status.f_ffree > limit
        found = scratch.measure(self.folder, limit)
        device = os.fstat(self.folder).st_dev
        opened = find_open_files(self._processes()).unlinked
        unlinked = [size for (where, _), size in opened.items() if where == device]
        return found.files + len(unlinked) > limit or found.size + sum(unlinked) > self.limits["scratch_bytes"]
