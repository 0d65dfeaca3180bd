"""What came of running something: for the model as text, for programs as a value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Guard", "Isolation", "Level", "Outcome", "Produced", "shown"]

# CSI, OSC and the other strings that end with ST or BEL, then any other escape, then every other control character.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f]).*?(?:\x1b\\|\x07|\x9c|\Z)|\x1b[ -/]*[0-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]",
    re.DOTALL,
)
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")


class Level(StrEnum):
    """How well a run is confined, strongest first."""

    NAMESPACE = "namespace"
    LANDLOCK = "landlock"
    SEATBELT = "seatbelt"
    LIMITS = "limits"
    OFF = "off"

    @property
    def strength(self) -> int:
        """Landlock and Seatbelt stand on one step: each is what its system has below a namespace."""
        return {"namespace": 3, "landlock": 2, "seatbelt": 2, "limits": 1, "off": 0}[self.value]


class Guard(StrEnum):
    """One thing that a level holds or does not hold: the words of Isolation.layers and Isolation.missing."""

    ENVIRONMENT = "clean environment"
    DESCRIPTORS = "no inherited descriptors"
    SCRIPT = "the checked script runs"
    OUTPUT = "output cap"
    TREE = "no process outlives the run"
    RESIDUE = "nothing left on disk"
    SKILL = "skill folder unchanged or told"
    LIMITS = "limits of time, files and memory"
    PRIVILEGES = "no new privileges"
    HOME = "home and other files hidden"
    READ_ONLY = "everything but scratch read-only"
    MODES = "modes and times kept"
    NETWORK = "network off"
    SOCKETS = "no sockets of other programs"
    PROCESSES = "other processes out of sight"
    SIGNALS = "other processes out of reach"
    SYSCALLS = "system call filter"
    NAMES = "names and sizes of other files hidden"
    MEMORY = "own IPC and shared memory"
    ROOM = "scratch limited by the kernel"
    FORKS = "number of processes limited by the kernel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """What was really there, never what was asked for."""

    level: Level
    layers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def has(self, guard: Guard) -> bool:
        return guard in self.layers


@dataclass(frozen=True, slots=True, kw_only=True)
class Produced:
    """A file that the run left in its scratch folder."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    exit_code: int | None
    """None when it was ended by us; 128 + n when signal n ended it."""
    stdout: str
    stderr: str
    isolation: Isolation
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    timed_out: bool = False
    cancelled: bool = False
    duration: float = 0.0
    """Seconds."""
    peak_memory: int | None = None
    """Bytes of the largest process, where the system tells; never below the 10 MB or so of the process that starts it."""
    files: tuple[Produced, ...] = ()
    ended_for: str = ""
    """What made us end it: time, output, processes, memory or scratch."""
    refused_files: tuple[tuple[str, str], ...] = ()
    """Outputs that were asked for and not brought back, each with the reason."""

    @property
    def ok(self) -> bool:
        return self.exit_code == 0


def shown(text: str) -> str:
    """Text of a stranger's program as it may be printed to a terminal: no escapes, no controls but tab and newline."""
    plain = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    return _REORDERING.sub("", plain)
