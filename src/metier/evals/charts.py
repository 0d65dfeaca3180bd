"""Charts as inline SVG. Colours and fonts come from the page, so that charts follow its dark mode.

Bars scale with the width of the page, text does not, so the charts also fit a phone.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from metier.values import dataclass

__all__ = ["Bar", "as_text", "bars", "pairs"]

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
