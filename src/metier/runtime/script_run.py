"""A run of a script as values: the run with its limits, and its outcome."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from metier.errors import ConflictError
from metier.values import dataclass, field

from .network.connections import Connection, MaskedSecret
from .sandbox.isolation import Isolation, IsolationLevel
from .scripts.packages import PackageMount
from .workspace.mount import WorkspaceMount

__all__ = ["Limits", "Outcome", "OutputFile", "ScriptRun", "check_output_paths", "printable", "write_outputs"]

# CSI, OSC and the other strings that end with ST or BEL, then any other escape, then every other control character.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f]).*?(?:\x1b\\|\x07|\x9c|\Z)|\x1b[ -/]*[0-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]",
    re.DOTALL,
)
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one run. The configuration can change them; a model cannot."""

    seconds: float = 60.0
    output_bytes: int = 1024 * 1024
    """Of stdout and stderr together."""
    arguments: int = 100
    argument_bytes: int = 4096
    """Of all arguments together, in UTF-8."""
    memory_bytes: int = 1024 * 1024 * 1024
    """Of each process, and of all of them together with their shared memory: by a cgroup, or checked every 50 ms."""
    processes: int = 64
    """Threads count too."""
    open_files: int = 256
    file_bytes: int = 64 * 1024 * 1024
    scratch_bytes: int = 64 * 1024 * 1024
    scratch_files: int = 10_000
    require: IsolationLevel = IsolationLevel.LANDLOCK
    """Nothing runs at a weaker level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRun:
    """One run of one script of a skill, or of a program that is given as bytes."""

    folder: str = ""
    """Absolute path of the skill's folder. Empty for a program that belongs to no skill."""
    script: str
    """Path inside the skill, such as scripts/chart.py. With `code`, only a name; its suffix selects the interpreter."""
    code: bytes | None = None
    """The program itself, instead of a file of the skill."""
    workspace: WorkspaceMount | None = None
    """The user's folder as this run sees it. The run then starts in it."""
    arguments: tuple[str, ...] = ()
    stdin: bytes | None = None
    hosts: tuple[str, ...] = ()
    """Hosts that the script may reach: `api.github.com`, `*.example.org:443`. Empty: no network. Level namespace only."""
    environment: dict[str, str] = field(default_factory=dict)
    """Variables that the user allowed by name. The environment of the caller is never passed on."""
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    """The same for variables whose names look like secrets. The caller must have the user's consent."""
    masked: tuple[MaskedSecret, ...] = ()
    """Secrets that the script uses and never sees: the proxy puts them into requests to their hosts."""
    named: tuple[str, ...] = ()
    """Files outside scripts/ that the skill declares as scripts."""
    inputs: tuple[str, ...] = ()
    """Absolute paths outside the skill that the script may read, such as the file to analyse."""
    outputs: tuple[str, ...] = ()
    """Files of the scratch folder to return."""
    packages: PackageMount | None = None
    """A prepared environment with the packages that the script declares."""
    log: str = ""
    """A file that the output is also appended to as it arrives, to read it while the run lasts. Not every runner does."""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFile:
    """A file that the script wrote to its scratch folder."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    exit_code: int | None
    """None if we stopped it; 128 + n if signal n ended it."""
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
    """Bytes of the largest process, if the system reports it; at least the 10 MB or so of the process that starts it."""
    files: tuple[OutputFile, ...] = ()
    stop_reason: str = ""
    """The reason why we stopped it: time, cancel, output, processes, memory or scratch."""
    refused_files: tuple[tuple[str, str], ...] = ()
    """Requested outputs that are not returned, each with the reason."""
    connections: tuple[Connection, ...] = ()
    """Connections that the script made or tried to make, in order."""
    notes: tuple[str, ...] = ()
    """Hosts and secrets that the skill needs and the run did not get, each with the reason."""

    @property
    def ok(self) -> bool:
        return self.exit_code == 0


def check_output_paths(folder: str, outputs: Iterable[str]) -> None:
    """Raises ConflictError if one of these outputs exists in the folder: before the script runs, not after."""
    for name in map(os.path.basename, outputs):
        if os.path.lexists(os.path.join(folder, name)):
            raise ConflictError(f"{name!r} already exists", hint="move it away, or run the command in another folder")


def write_outputs(folder: str, files: Iterable[OutputFile]) -> tuple[str, ...]:
    """Writes the outputs of a run to a folder and returns their paths. Existing files and links are not overwritten."""
    paths = []
    for each in files:
        path = os.path.join(folder, os.path.basename(each.path))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(each.data)
        paths.append(path)
    return tuple(paths)


def printable(text: str) -> str:
    """Removes escapes and control characters except tab and newline, so that output of a script can go to a terminal."""
    plain = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    return _REORDERING.sub("", plain)
