"""The value that a command returns: data for programs, lines for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from metier.values import dataclass

from .terminal import Terminal

__all__ = ["OutputError", "Result"]


class OutputError(OSError):
    """The output could not be written, as on a full disk. The command itself succeeded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    data: Mapping[str, Any]  # Any: JSON
    lines: Callable[[Terminal], Iterable[str]]
    status: int = 0
    notes: tuple[str, ...] = ()
    """Warnings; they go to stderr and into the JSON envelope."""
    info: str = ""
    """A remark for the user; it goes to stderr so that stdout holds only the answer."""
    errors: str = ""
    """The stderr of a program that the command ran; it goes to ours without control characters."""
    text: str | None = None
    """A whole output in a format of its own, such as SARIF; it replaces the lines."""
    as_json: bool = False
    """The user asked for JSON by another option than --json."""
    pages: bool = False
    """A terminal shows it in a pager if it is longer than the screen."""
    cacheable: bool = False
    """The output may be printed again while nothing has changed; see `listing_cache`."""
