"""Streamed Markdown: the part that will not change any more."""

from __future__ import annotations

import re

__all__ = ["finished_length"]

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


def finished_length(text: str) -> int:
    """Returns the length of the text up to the last blank line outside a code block.

    More text cannot change how that part looks, so it can be printed for good.
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
