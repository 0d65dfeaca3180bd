"""How much a script may use. Configuration may lower or raise these; a model may not."""

from __future__ import annotations

from dataclasses import dataclass, field

from .outcome import Level

__all__ = ["Limits", "Run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    seconds: float = 60.0
    output_bytes: int = 1024 * 1024
    """Of stdout and stderr together."""
    arguments: int = 100
    argument_bytes: int = 4096
    """Of all arguments together, in UTF-8."""
    memory_bytes: int = 1024 * 1024 * 1024
    """Of each process, held by the kernel, and of all of them together, looked at every 50 ms."""
    processes: int = 64
    """Threads count too."""
    open_files: int = 256
    file_bytes: int = 64 * 1024 * 1024
    scratch_bytes: int = 64 * 1024 * 1024
    scratch_files: int = 10_000
    require: Level = Level.LANDLOCK
    """Below this level nothing runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One script of one skill, asked for once."""

    folder: str
    """Absolute path of the skill's folder."""
    script: str
    """Path inside the skill, such as scripts/chart.py."""
    arguments: tuple[str, ...] = ()
    stdin: bytes | None = None
    network: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    """Variables that the user allowed by name; never the caller's own environment."""
    secrets: dict[str, str] = field(default_factory=dict)
    """The same for variables whose names look like secrets: whoever fills this in has been asked."""
    named: tuple[str, ...] = ()
    """Files outside scripts/ that the skill itself names as executables."""
    inputs: tuple[str, ...] = ()
    """Absolute paths outside the skill that the user lets this run read, such as the file to analyse."""
    outputs: tuple[str, ...] = ()
    """Files of the scratch folder to bring back."""
    limits: Limits = field(default_factory=Limits)
