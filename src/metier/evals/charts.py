"""Charts as inline SVG. Colours and fonts come from the page, so that charts follow its dark mode.

Bars scale with the width of the page, text does not, so the charts also fit a phone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise

from metier.values import dataclass

__all__ = ["Bar", "as_text", "bars", "lines", "pairs"]

_ROW = 38
_THICK = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A share from 0 to 1 with its labels."""

    label: str
    share: float
    text: str
    style: str = "good"
    spread: float = 0.0
    """Half the length of the whisker: the standard deviation."""


def bars(rows: Sequence[Bar], title: str) -> str:
    """Horizontal bars, each below its label and with a whisker if it has a spread."""
    parts = [f'<svg height="{_ROW * len(rows)}" role="img" aria-label="{as_text(title)}">']
    for number, row in enumerate(rows):
        top = number * _ROW + 18
        parts += [
            f'<text x="0" y="{top - 5}">{as_text(_cut(row.label))}</text>',
            f'<text x="100%" y="{top - 5}" class="value">{as_text(row.text)}</text>',
            f'<rect y="{top}" width="100%" height="{_THICK}" rx="3" class="track"/>',
            f'<rect y="{top}" width="{_percent(row.share)}" height="{_THICK}" rx="3" class="{row.style}"/>',
        ]
        if row.spread > 0:
            left, right = _percent(row.share - row.spread), _percent(row.share + row.spread)
            middle, end = top + _THICK // 2, top + _THICK
            parts += [
                f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="whisker"/>'
                for x1, y1, x2, y2 in ((left, middle, right, middle), (left, top, left, end), (right, top, right, end))
            ]
    return "".join([*parts, "</svg>"])


def lines(series: Mapping[str, Sequence[tuple[int, float]]], title: str) -> str:
    """Shares from 0 to 1 by a number, one line for each name; the horizontal axis is logarithmic."""
    numbers = sorted({number for points in series.values() for number, _ in points})
    low, high = math.log(numbers[0]), math.log(numbers[-1])

    def left(number: int) -> float:
        return 4 + 88 * ((math.log(number) - low) / (high - low) if high > low else 0.5)

    height = 180
    parts = [f'<svg height="{height + 24 + 18 * len(series)}" role="img" aria-label="{as_text(title)}">']
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        top = 8 + height * (1 - share)
        parts.append(f'<line x1="4%" x2="92%" y1="{top:.0f}" y2="{top:.0f}" class="grid"/>')
        parts.append(f'<text x="100%" y="{top + 4:.0f}" class="value">{share:.0%}</text>')
    parts += [f'<text x="{left(n):.1f}%" y="{height + 26}" class="tick">{n:,}</text>' for n in numbers]
    for place, (name, points) in enumerate(series.items()):
        style = f"line-{place % 4}"
        for (first, one), (second, other) in pairwise(points):
            ends = [
                f"{left(first):.1f}%",
                f"{8 + height * (1 - one):.1f}",
                f"{left(second):.1f}%",
                f"{8 + height * (1 - other):.1f}",
            ]
            parts.append('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>'.format(*ends, style))
        parts += [f'<circle cx="{left(n):.1f}%" cy="{8 + height * (1 - s):.1f}" r="3" class="{style}"/>' for n, s in points]
        key = height + 46 + 18 * place
        parts.append(f'<circle cx="6" cy="{key - 4}" r="4" class="{style}"/><text x="16" y="{key}">{as_text(name)}</text>')
    return "".join([*parts, "</svg>"])


def as_text(text: str) -> str:
    """Escapes markup, and replaces invisible and bidirectional control characters."""
    return escape("".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text), quote=True)


def _percent(share: float) -> str:
    return f"{100 * max(0.0, min(1.0, share)):.1f}%"


def pairs(rows: Sequence[tuple[str, Bar, Bar]], title: str) -> str:
    """Two bars for each row: with the skill, and without."""
    flat = [bar for name, first, second in rows for bar in (_named(first, name), _named(second, ""))]
    return bars(flat, title)


def _named(bar: Bar, name: str) -> Bar:
    return Bar(label=name, share=bar.share, text=bar.text, style=bar.style, spread=bar.spread)


def _cut(text: str) -> str:
    return text if len(text) <= 30 else text[:29] + "…"
