"""What each level holds. These words go into every Outcome, and the escape suite proves each of them."""

from __future__ import annotations

from metier.runtime.outcome import Guard, Isolation, Level

__all__ = ["isolation"]

_ALWAYS = (Guard.ENVIRONMENT, Guard.DESCRIPTORS, Guard.SCRIPT, Guard.OUTPUT, Guard.TREE, Guard.SKILL)
_LIMITS = (*_ALWAYS, Guard.LIMITS, Guard.PRIVILEGES)
_CONFINED = (*_LIMITS, Guard.HOME, Guard.READ_ONLY, Guard.MODES, Guard.RESIDUE, Guard.PROCESSES, Guard.SOCKETS)
_HELD: dict[Level, tuple[Guard, ...]] = {
    Level.NAMESPACE: (*_CONFINED, Guard.SIGNALS, Guard.SYSCALLS, Guard.NAMES, Guard.MEMORY, Guard.ROOM, Guard.FORKS),
    Level.LANDLOCK: (*_CONFINED, Guard.SYSCALLS, Guard.MEMORY),
    Level.SEATBELT: (*_LIMITS, Guard.HOME, Guard.READ_ONLY, Guard.MODES, Guard.SOCKETS, Guard.SIGNALS),
    Level.LIMITS: _LIMITS,
    Level.OFF: _ALWAYS,
}


def isolation(level: Level, *, network: bool = False, abi: int = 0, root: bool = False) -> Isolation:
    """`abi` is Landlock's version. `root`: the kernel's limit of processes does not count for it."""
    held = set(_HELD[level])
    if level.strength >= Level.SEATBELT.strength and not network:
        held.add(Guard.NETWORK)
    if level is Level.LANDLOCK and abi >= 6:
        held.add(Guard.SIGNALS)
    if level is Level.NAMESPACE and root:
        held.discard(Guard.FORKS)
    return Isolation(
        level=level,
        layers=tuple(guard.value for guard in Guard if guard in held),
        missing=tuple(guard.value for guard in Guard if guard not in held),
    )
