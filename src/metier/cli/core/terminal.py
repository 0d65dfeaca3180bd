"""The terminal's size and colours, and text made safe for it."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from typing import TextIO

from metier.errors import plural
from metier.values import dataclass

__all__ = ["Terminal", "cell_width", "one_line", "pad", "paint_diff", "plural", "shorten", "strip_control_chars", "truncate"]

_STYLES = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "dim": "2", "bold": "1"}
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    is_tty: bool = False
    width: int | None = None
    """None if the output is not a terminal; then nothing is truncated."""
    height: int = 24
    colour: bool = False

    @classmethod
    def of(cls, stream: TextIO | None = None) -> Terminal:
        stream = stream or sys.stdout
        if not stream.isatty():
            return cls(colour=bool(os.environ.get("FORCE_COLOR")))
        try:
            size = os.get_terminal_size(stream.fileno())
            width, height = size.columns or 80, size.lines or 24
        except OSError:
            width, height = 80, 24
        colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return cls(is_tty=True, width=width, height=height, colour=colour)

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.colour and text else text


def cell_width(text: str) -> int:
    """Returns the number of columns; East Asian wide characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def pad(text: str, width: int) -> str:
    return text + " " * max(0, width - cell_width(text))


def truncate(text: str, width: int | None) -> str:
    """Cuts the text to `width` columns and ends it with an ellipsis."""
    if width is None or cell_width(text) <= width:
        return text
    kept, used = [], 1
    for char in text:
        used += cell_width(char)
        if used > width:
            break
        kept.append(char)
    return "".join(kept).rstrip() + "…"


def shorten(path: str, home: str) -> str:
    """Writes a path below the home folder with `~`."""
    return f"~{path[len(home) :]}" if path.startswith(home + os.sep) else path


def strip_control_chars(text: str) -> str:
    """Replaces control characters, which could move the cursor; keeps newlines and tabs."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


def one_line(text: str) -> str:
    """Joins the text into one line without control characters."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(char if char.isprintable() else " " for char in line)


def paint_diff(lines: Iterable[str], terminal: Terminal) -> Iterator[str]:
    """Colours the lines of a unified diff, without control characters."""
    for line in lines:
        text = strip_control_chars(line)
        yield terminal.paint(text, _DIFF_STYLES[line[0]]) if line[:1] in _DIFF_STYLES else text
