"""Small charts of block characters."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["BAR_WIDTH", "bar", "sparkline"]

BAR_WIDTH = 24
_BLOCKS = "▁▂▃▄▅▆▇█"
_PARTS = " ▏▎▍▌▋▊▉█"


def sparkline(values: Sequence[float]) -> str:
    """Returns one character for each value; a day without usage is a dot."""
    most = max(values, default=0)
    return "".join("·" if value <= 0 else _BLOCKS[min(7, int(value / most * 8 - 1e-9))] for value in values)


def bar(value: float, most: float, width: int = BAR_WIDTH) -> str:
    """Returns a bar with a resolution of an eighth of a character. A value above 0 has at least the thinnest bar."""
    if value <= 0 or most <= 0:
        return ""
    eighths = max(1, round(value / most * width * 8))
    return "█" * (eighths // 8) + _PARTS[eighths % 8].strip()
