"""What a command answers: data for programs, lines for people. Commands never print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from metier.values import dataclass, field

from .terminal import Terminal

__all__ = ["OutputError", "Result"]


class OutputError(OSError):
    """The answer itself could not be written: a full disk behind `>`. Nothing is wrong with what was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    data: Mapping[str, Any]  # Any: JSON; this is where values leave Python
    lines: Callable[[Terminal], Iterable[str]]
    status: int = 0
    notes: tuple[str, ...] = ()
    """Warnings for the person at the terminal; they go to stderr and into the envelope."""
    info: str = ""
    """A remark for the person at the terminal, on stderr so that stdout stays pure."""
    errors: str = ""
    """What a program that we ran wrote to its stderr; it goes to ours as it is, made safe for a terminal."""
    text: str | None = None
    """A whole output in a format of its own, such as SARIF; it replaces the lines."""
    as_json: bool = False
    """Asked for as JSON in another way than by --json."""
    pages: bool = False
    """Long enough that a terminal should page it."""
    remember: bool = field(default=False)
    """May be answered from memory while nothing has changed; see `remembered`."""
