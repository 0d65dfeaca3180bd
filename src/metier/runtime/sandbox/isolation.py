"""Isolation levels and the guards that each one enforces. Every Outcome lists them, and the escape suite tests each one."""

from __future__ import annotations

from enum import StrEnum

from metier.values import dataclass, replace

__all__ = ["SCOPED_SIGNALS", "Guard", "Isolation", "IsolationLevel", "container_isolation", "isolation_at"]


class IsolationLevel(StrEnum):
    """The isolation of a run, strongest first."""

    NAMESPACE = "namespace"
    LANDLOCK = "landlock"
    SEATBELT = "seatbelt"
    LIMITS = "limits"
    OFF = "off"

    @property
    def strength(self) -> int:
        """Landlock and Seatbelt are equally strong: each is what its system offers below a namespace."""
        return {"namespace": 3, "landlock": 2, "seatbelt": 2, "limits": 1, "off": 0}[self.value]


class Guard(StrEnum):
    """One protection that a level has or lacks: the words of Isolation.layers and Isolation.missing."""

    ENVIRONMENT = "clean environment"
    DESCRIPTORS = "no inherited descriptors"
    SCRIPT = "the checked script runs"
    OUTPUT = "output cap"
    TREE = "no process outlives the run"
    SUPERVISION = "the script cannot end its supervisor"
    RESIDUE = "nothing left on disk"
    SKILL = "skill folder unchanged or reported"
    LIMITS = "limits of time, files and memory"
    PRIVILEGES = "no new privileges"
    HOME = "home and other files hidden"
    READ_ONLY = "everything but scratch read-only"
    MODES = "modes and times kept"
    NETWORK = "network off"
    HOSTS = "no network but granted hosts"
    SOCKETS = "no sockets of other programs"
    PROCESSES = "environment and memory of other processes hidden"
    IDS = "ids of other processes hidden"
    SIGNALS = "no signals to other processes"
    SYSCALLS = "system call filter"
    NAMES = "names and sizes of other files hidden"
    MEMORY = "own IPC and shared memory"
    SCRATCH = "scratch size limited by the kernel"
    FORKS = "number of processes limited by the kernel"
    RUN_MEMORY = "memory of all processes limited by the kernel"
    WORKSPACE = "workspace mounted below a layer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """The isolation that a run had, not the one that was requested."""

    level: IsolationLevel
    layers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    engine: str = ""
    """The container engine that ran it, such as podman; empty for the sandbox of metier."""

    def has(self, guard: Guard) -> bool:
        return guard in self.layers


_ALWAYS = (Guard.ENVIRONMENT, Guard.DESCRIPTORS, Guard.SCRIPT, Guard.OUTPUT, Guard.TREE, Guard.SKILL)
_LIMITS = (*_ALWAYS, Guard.LIMITS, Guard.PRIVILEGES)
_FILES = (Guard.HOME, Guard.READ_ONLY, Guard.MODES, Guard.RESIDUE)
_CONFINED = (*_LIMITS, *_FILES, Guard.SUPERVISION, Guard.PROCESSES, Guard.SOCKETS, Guard.SYSCALLS, Guard.MEMORY)
_GUARDS: dict[IsolationLevel, tuple[Guard, ...]] = {
    IsolationLevel.NAMESPACE: (*_CONFINED, Guard.SIGNALS, Guard.IDS, Guard.NAMES, Guard.SCRATCH, Guard.FORKS, Guard.WORKSPACE),
    IsolationLevel.LANDLOCK: _CONFINED,
    IsolationLevel.SEATBELT: (*_LIMITS, Guard.HOME, Guard.READ_ONLY, Guard.MODES, Guard.SOCKETS, Guard.SIGNALS),
    IsolationLevel.LIMITS: _LIMITS,
    IsolationLevel.OFF: _ALWAYS,
}


SCOPED_SIGNALS = 6
"""The first version of Landlock that keeps signals inside. Before it, a filter protects the supervisor, and only that."""


def container_isolation(
    engine: str, *, cgroup: bool, scratch_in_memory: bool, hosts: bool = False, copied: bool = False
) -> Isolation:
    """Returns the isolation of a container: that of a namespace, without what this engine does not limit.

    The engine's cgroup is the only limit on the number of processes: the kernel's limit for a user would count those of others.
    """
    found = isolation_at(IsolationLevel.NAMESPACE, root=True, cgroup=cgroup, hosts=hosts, copied=copied)
    if scratch_in_memory:
        return replace(found, engine=engine)
    layers = tuple(each for each in found.layers if each != Guard.SCRATCH)
    return replace(found, engine=engine, layers=layers, missing=tuple(each.value for each in Guard if each not in layers))


def isolation_at(
    level: IsolationLevel,
    *,
    hosts: bool = False,
    abi: int = 0,
    root: bool = False,
    cgroup: bool = False,
    copied: bool = False,
) -> Isolation:
    """Returns the isolation of a level. `abi` is the version of Landlock; a workspace was `copied` and not mounted; the run may
    reach granted `hosts`.

    The kernel limits the number of processes in a namespace, except for `root`, and in a `cgroup`, whose memory it limits too.
    """
    guards = set(_GUARDS[level])
    if level.strength >= IsolationLevel.SEATBELT.strength:
        guards |= {Guard.HOSTS} if hosts else {Guard.HOSTS, Guard.NETWORK}
    if level is IsolationLevel.LANDLOCK and abi >= SCOPED_SIGNALS:
        guards.add(Guard.SIGNALS)
    if level is IsolationLevel.NAMESPACE and root:
        guards.discard(Guard.FORKS)
    if copied:
        guards.discard(Guard.WORKSPACE)
    if cgroup:
        guards |= {Guard.FORKS, Guard.RUN_MEMORY}
    return Isolation(
        level=level,
        layers=tuple(guard.value for guard in Guard if guard in guards),
        missing=tuple(guard.value for guard in Guard if guard not in guards),
    )
