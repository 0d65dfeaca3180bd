"""Markdown that is still being written: which part of it is finished, and which may still change."""

from __future__ import annotations

import re

__all__ = ["finished"]

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


def finished(text: str) -> int:
    """Up to where the text will not look different whatever comes next: the last blank line outside a code block.

    A terminal scrolls what is printed out of reach, so only what is finished may be printed for good.
    """
    best = 0
    opened = ""
    start = 0
    for number, line in enumerate(text.splitlines(keepends=True)):
        fence = _FENCE.match(line)
        if fence and not opened:
            opened = fence[1]
        elif fence and fence[1][0] == opened[0] and len(fence[1]) >= len(opened) and not line.strip().strip(opened[0]):
            opened = ""
        start += len(line)
        if not opened and not line.strip() and line.endswith("\n") and number:
            best = start
    return best
