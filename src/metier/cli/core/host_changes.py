"""A change of another agent's file, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff

from metier.install import HostFileChange

from .terminal import Terminal, strip_control_chars

__all__ = ["diff_lines"]


def diff_lines(change: HostFileChange, terminal: Terminal) -> Iterator[str]:
    before, after = ((text or "").splitlines() for text in (change.before, change.after))
    for line in list(unified_diff(before, after, lineterm="", n=2))[2:]:
        style = {"+": "green", "-": "red"}.get(line[:1], "dim")
        yield f"  {terminal.paint(strip_control_chars(line.expandtabs(4)), style)}"
