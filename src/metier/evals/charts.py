"""Charts as inline SVG: no script, no font, no colour of their own, so that they follow the page into the dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Bar", "bars", "pairs"]

_ROW = 26
_LABEL = 170
_VALUE = 130
_WIDE = 680


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A share from 0 to 1, with what stands before and behind it."""

    label: str
    share: float
    text: str
    style: str = "good"
    spread: float = 0.0
    """Half the length of the whisker: the standard deviation."""


def bars(rows: Sequence[Bar], title: str) -> str:
    """Horizontal bars under each other, each with a whisker where it has a spread."""
    height = _ROW * len(rows) + 6
    room = _WIDE - _LABEL - _VALUE
    parts = [f'<svg viewBox="0 0 {_WIDE} {height}" role="img" aria-label="{escape(title, quote=True)}">']
    for number, row in enumerate(rows):
        top = number * _ROW + 4
        middle, end = top + 9, _LABEL + room * max(0.0, min(1.0, row.share))
        parts += [
            f'<text x="{_LABEL - 8}" y="{middle + 4}" class="label">{escape(_cut(row.label))}</text>',
            f'<rect x="{_LABEL}" y="{top}" width="{room}" height="18" rx="3" class="track"/>',
            f'<rect x="{_LABEL}" y="{top}" width="{end - _LABEL:.1f}" height="18" rx="3" class="{row.style}"/>',
        ]
        if row.spread > 0:
            left, right = (_LABEL + room * max(0.0, min(1.0, row.share + side * row.spread)) for side in (-1, 1))
            whisker = f"M{left:.1f} {middle}H{right:.1f}M{left:.1f} {middle - 4}v8M{right:.1f} {middle - 4}v8"
            parts.append(f'<path d="{whisker}" class="whisker"/>')
        parts.append(f'<text x="{_LABEL + room + 8}" y="{middle + 4}" class="value">{escape(row.text)}</text>')
    return "".join([*parts, "</svg>"])


def pairs(rows: Sequence[tuple[str, Bar, Bar]], title: str) -> str:
    """Two bars for each row: with the skill, and without."""
    flat = [bar for name, first, second in rows for bar in (_named(first, name), _named(second, ""))]
    return bars(flat, title)


def _named(bar: Bar, name: str) -> Bar:
    return Bar(label=name, share=bar.share, text=bar.text, style=bar.style, spread=bar.spread)


def _cut(text: str) -> str:
    return text if len(text) <= 24 else text[:23] + "…"
