"""The memory of processes as /proc shows it, for runs that have no cgroup.

Shared memory is counted too: mapped, or only held by an open descriptor (memfd). Reading it cannot be complete: pages of an
object that is neither mapped nor open in a process are in no file of /proc. See `UsageWatch` for what is done about that.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

__all__ = ["OpenFiles", "ProcessMemory", "exact_size", "find_open_files", "read_process", "shared_by_all"]

_FIELDS = re.compile(rb"^(RssAnon|RssShmem|VmSwap|Threads):\s+(\d+)", re.MULTILINE)
_SHARES = re.compile(rb"^(?:Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+)", re.MULTILINE)
_MAPPING = re.compile(rb"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ ([0-9a-f]+):([0-9a-f]+) (\d+)")
_SHMEM = re.compile(rb"^Shmem:\s+(\d+)", re.MULTILINE)
_KILO = 1024

FileId = tuple[int, int]


class ProcessMemory(NamedTuple):
    """Private and shared bytes. Pages that several processes have count for each of them."""

    tasks: int
    private: int
    shared: int


class OpenFiles(NamedTuple):
    """Regular files that processes have open: their bytes by device and inode. `unlinked` is a part of them."""

    files: dict[FileId, int]
    unlinked: dict[FileId, int]
    is_complete: bool
    """False if a process hides its descriptors, which a program that its user cannot read does."""

    def size_on(self, device: int) -> int:
        return sum(size for (where, _), size in self.files.items() if where == device)


def read_process(pid: int) -> ProcessMemory | None:
    """Returns None if it has ended."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            found = {name: int(value) for name, value in _FIELDS.findall(file.read())}
    except OSError:
        return None
    private = found.get(b"RssAnon", 0) + found.get(b"VmSwap", 0)
    return ProcessMemory(found.get(b"Threads", 0), private * _KILO, found.get(b"RssShmem", 0) * _KILO)


def find_open_files(pids: Iterable[int]) -> OpenFiles:
    files: dict[FileId, int] = {}
    unlinked: dict[FileId, int] = {}
    is_complete = True
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except PermissionError:
            is_complete = False
            continue
        except OSError:
            continue
        for name in names:
            try:
                status = os.stat(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                files[status.st_dev, status.st_ino] = status.st_blocks * 512
                if status.st_nlink == 0:
                    unlinked[status.st_dev, status.st_ino] = status.st_blocks * 512
    return OpenFiles(files, unlinked, is_complete)


def exact_size(pids: Iterable[int], files: OpenFiles) -> int:
    """Returns the bytes of all processes together: each page once, and all pages of an open memfd."""
    device = memfd_device()
    total = files.size_on(device)
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
                total += sum(map(int, _SHARES.findall(file.read()))) * _KILO
            if total and files.size_on(device):
                total -= _mapped_share(pid, files, device)
        except OSError:
            found = read_process(pid)
            total += found.private + found.shared if found else 0
    return total


def _mapped_share(pid: int, files: OpenFiles, device: int) -> int:
    """Returns the bytes of a process that are pages of open memfds, which are counted already."""
    share, counts = 0, False
    with open(f"/proc/{pid}/smaps", "rb") as lines:
        for line in lines:
            if line.startswith(b"Pss:"):
                share += int(line.split()[1]) * _KILO if counts else 0
            elif found := _MAPPING.match(line):
                major, minor, inode = int(found[1], 16), int(found[2], 16), int(found[3])
                counts = os.makedev(major, minor) == device and (device, inode) in files.files
    return share


@cache
def memfd_device() -> int:
    """Returns the device of all memfds. The kernel has one hidden file system for them, and for shared mappings."""
    try:
        descriptor = os.memfd_create("metier")
    except OSError:
        return -1
    try:
        return os.fstat(descriptor).st_dev
    finally:
        os.close(descriptor)


def shared_by_all() -> int:
    """Returns the shared memory of the whole machine in bytes."""
    with open("/proc/meminfo", "rb") as file:
        found = _SHMEM.search(file.read())
    return int(found[1]) * _KILO if found else 0
