"""A cgroup for the processes of one run: the kernel limits their memory, of every kind, and their number.

The spawner looks for a parent once: its own cgroup in version 1, where only root may use it; in version 2 the nearest one that
has been delegated to this user, for instance by systemd. Without one, the supervisor measures the processes instead.

Uses no other module of metier: the small process that starts scripts imports it (see `spawner`).
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from typing import NamedTuple

from .folder_lock import lock_if_abandoned, make_locked

__all__ = [
    "CgroupParent",
    "Leaf",
    "find_limited",
    "find_parent",
    "memory_exceeded",
    "remove_abandoned",
    "remove_leaf",
]

_PREFIX = "metier.run."
_KEEPER = "metier.keeper"
_CONTROLLERS = {"memory", "pids"}
_REMOVE_SECONDS = 2.0


class CgroupParent(NamedTuple):
    """The folders that leaves are made in: one per controller in version 1, the same in version 2."""

    version: int
    memory: str
    pids: str


def find_parent(process: str = "/proc/self") -> CgroupParent | None:
    """Returns a parent in which a leaf could be made and limited, or None. `process` has its `cgroup` and `mountinfo`."""
    try:
        own, mounts = _own_cgroups(process), list(_mounts(process))
    except (OSError, ValueError, IndexError):
        return None
    for parent in _candidates(own, mounts):
        try:
            leaf = Leaf(parent, f"{os.getpid()}")
            try:
                leaf.set_limits(memory=1 << 30, tasks=64)
            finally:
                leaf.remove()
        except OSError:
            continue
        return parent
    return None


class Leaf:
    """The cgroup of one run. Its folders are locked as long as its supervisor lives."""

    def __init__(self, parent: CgroupParent, name: str) -> None:
        self.parent = parent
        self.name = _PREFIX + name
        self.memory = f"{parent.memory}/{self.name}"
        self.pids = f"{parent.pids}/{self.name}"
        self.folders = list(dict.fromkeys((self.memory, self.pids)))
        self._locks: list[int] = []
        try:
            for folder in self.folders:
                self._locks.append(make_locked(folder))
        except OSError:
            self.remove()
            raise

    def set_limits(self, *, memory: int, tasks: int) -> None:
        if self.parent.version == 1:
            _write(f"{self.memory}/memory.limit_in_bytes", memory)
            _write(f"{self.memory}/memory.memsw.limit_in_bytes", memory, optional=True)
        else:
            _write(f"{self.memory}/memory.max", memory)
            _write(f"{self.memory}/memory.swap.max", 0, optional=True)
            _write(f"{self.memory}/memory.oom.group", 1, optional=True)
        _write(f"{self.pids}/pids.max", tasks)

    def enter(self) -> None:
        """Moves this process, and with it all that it will start. May take 15 ms."""
        for folder in self.folders:
            _write(f"{folder}/cgroup.procs", 0)

    def memory_exceeded(self) -> bool:
        return memory_exceeded(self.parent.version, self.memory)

    def stop(self) -> None:
        """Ends the processes, or at least keeps them from starting others while the supervisor ends them."""
        try:
            _write(f"{self.pids}/pids.max", 0)
            if self.parent.version == 2:
                _write(f"{self.memory}/cgroup.kill", 1, optional=True)
        except OSError:
            pass  # the sweep of the supervisor does not need it

    def remove(self) -> None:
        for folder in self.folders:
            remove_leaf(folder)
        for lock in self._locks:
            os.close(lock)
        self._locks = []


def memory_exceeded(version: int, folder: str) -> bool:
    """Returns True once the kernel has killed a process of the cgroup because its limit was reached."""
    name = "memory.oom_control" if version == 1 else "memory.events"
    try:
        with open(f"{folder}/{name}", encoding="ascii") as lines:
            return any(line.startswith("oom_kill ") and int(line.split()[1]) > 0 for line in lines)
    except OSError:
        return False


def find_limited(process: str, *, memory: int, tasks: int) -> CgroupParent | None:
    """Returns the cgroups of another process if they limit it to so much memory and so many tasks, or to less."""
    try:
        for found in _cgroups_of(_own_cgroups(process), list(_mounts("/proc/self"))):
            name = "memory.limit_in_bytes" if found.version == 1 else "memory.max"
            limits = _read(f"{found.memory}/{name}").strip(), _read(f"{found.pids}/pids.max").strip()
            if "max" not in limits and int(limits[0]) <= memory and int(limits[1]) <= tasks:
                return found
    except (OSError, ValueError, IndexError):
        pass  # it has ended, or its cgroup is not visible here
    return None


def remove_abandoned(parent: CgroupParent) -> None:
    """Ends what runs in leaves whose supervisor was killed together with its spawner, and removes them."""
    for above in dict.fromkeys((parent.memory, parent.pids)):
        for name in os.listdir(above):
            folder = f"{above}/{name}"
            if name.startswith(_PREFIX) and (lock := lock_if_abandoned(folder)) is not None:
                _kill_all(folder)
                remove_leaf(folder)
                os.close(lock)


def _kill_all(folder: str) -> None:
    deadline = time.monotonic() + _REMOVE_SECONDS
    while time.monotonic() < deadline:
        try:
            pids = list(map(int, _read(f"{folder}/cgroup.procs").split()))
        except OSError:
            return
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, 9)
            except OSError:
                continue
        time.sleep(0.005)


def remove_leaf(folder: str) -> None:
    """Removes a folder, once the last process has left it."""
    deadline = time.monotonic() + _REMOVE_SECONDS
    while True:
        try:
            return os.rmdir(folder)
        except OSError as error:
            # Busy: a process that has been reaped leaves its cgroup a moment later.
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                return None
        time.sleep(0.001)


def _candidates(own: dict[str, str], mounts: list[tuple[str, str, str, set[str]]]) -> Iterator[CgroupParent]:
    for found in _cgroups_of(own, mounts):
        if found.version == 1:
            yield found
        else:
            yield from _delegated(found.memory, next(point for kind, _, point, _ in mounts if kind == "cgroup2"))


def _cgroups_of(own: dict[str, str], mounts: list[tuple[str, str, str, set[str]]]) -> Iterator[CgroupParent]:
    folders = {}
    for controller in _CONTROLLERS:
        for kind, root, point, options in mounts:
            if kind == "cgroup" and controller in options and controller in own:
                folders[controller] = _below(point, root, own[controller])
    if folders.get("memory") and folders.get("pids"):
        yield CgroupParent(1, folders["memory"] or "", folders["pids"] or "")
    for kind, root, point, _ in mounts:
        here = _below(point, root, own[""]) if kind == "cgroup2" and "" in own else None
        if here:
            yield CgroupParent(2, here, here)


def _delegated(here: str, top: str) -> Iterator[CgroupParent]:
    """Yields the own cgroup if no other process is in it, then those above it that this user may write to."""
    if _is_open(here) and _read(f"{here}/cgroup.procs").split() == [str(os.getpid())]:
        try:
            os.makedirs(f"{here}/{_KEEPER}", exist_ok=True)
            _write(f"{here}/{_KEEPER}/cgroup.procs", os.getpid())
        except OSError:
            pass
        else:
            # A cgroup with processes of its own cannot have children with limits.
            here = f"{here}/{_KEEPER}"
    while here != top and here.startswith(top):
        here = os.path.dirname(here)
        if _is_open(here):
            yield CgroupParent(2, here, here)


def _is_open(folder: str) -> bool:
    """Returns True if children with limits can be made here, and processes of this user moved into them."""
    if not (os.access(folder, os.W_OK) and os.access(f"{folder}/cgroup.procs", os.W_OK)):
        return False
    if not set(_read(f"{folder}/cgroup.controllers").split()) >= _CONTROLLERS:
        return False
    if not set(_read(f"{folder}/cgroup.subtree_control").split()) >= _CONTROLLERS:
        try:
            _write(f"{folder}/cgroup.subtree_control", "+memory +pids")
        except OSError:
            return _read(f"{folder}/cgroup.procs").split() == [str(os.getpid())]
    return True


def _own_cgroups(process: str) -> dict[str, str]:
    """Returns the cgroup of each controller of version 1; under "", that of version 2."""
    found = {}
    for line in _read(f"{process}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            found[controller] = path
    return found


def _mounts(process: str) -> Iterator[tuple[str, str, str, set[str]]]:
    """Yields type, root, mount point and options of each cgroup file system."""
    for line in _read(f"{process}/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            words = before.split()
            yield kind, words[3], words[4], set(options.split(","))


def _below(point: str, root: str, path: str) -> str | None:
    """Returns the folder of a cgroup, or None if it is outside of what is mounted."""
    inside = os.path.relpath(path, root)
    if inside.startswith(".."):
        return None
    return os.path.normpath(os.path.join(point, inside))


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def _write(path: str, value: int | str, *, optional: bool = False) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        if optional:
            return
        raise
    try:
        os.write(descriptor, str(value).encode())
    except OSError:
        if not optional:
            raise
    finally:
        os.close(descriptor)
