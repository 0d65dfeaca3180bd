"""The network of a run, as the sandbox uses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from .connections import Connection

__all__ = ["ScriptNetwork"]


class ScriptNetwork(Protocol):
    takes_all: bool
    """Every address of the namespace leads to it, and the run observes its own children."""
    links: Mapping[str, str]
    """Symbolic links of the run's root, with their targets."""

    @property
    def ports(self) -> tuple[int, ...]: ...

    @property
    def secrets(self) -> dict[str, str]: ...

    @property
    def variables(self) -> dict[str, str]: ...

    @property
    def files(self) -> list[tuple[str, bytes]]: ...

    def start(self, descriptors: Sequence[int]) -> None: ...

    def close(self) -> tuple[Connection, ...]: ...
