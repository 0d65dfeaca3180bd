"""Small pictures for READMEs: a badge with version or downloads, and a chart of downloads a day."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from metier.registry.wire import DownloadDay

__all__ = ["badge_svg", "chart_svg"]

_LETTER = 6.6
_WIDTH, _HEIGHT, _EDGE = 640, 160, 24


def badge_svg(label: str, value: str, *, colour: str = "#2f6f4f") -> str:
    left, right = len(label) * _LETTER + 12, len(value) * _LETTER + 12
    text = 'font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" fill="#fff" text-anchor="middle"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:.0f}" height="20" role="img"'
        f' aria-label="{escape(label)}: {escape(value)}"><title>{escape(label)}: {escape(value)}</title>'
        f'<rect width="{left:.1f}" height="20" fill="#444"/>'
        f'<rect x="{left:.1f}" width="{right:.1f}" height="20" fill="{colour}"/>'
        f'<g {text}><text x="{left / 2:.1f}" y="14">{escape(label)}</text>'
        f'<text x="{left + right / 2:.1f}" y="14">{escape(value)}</text></g></svg>'
    )


def chart_svg(days: Sequence[DownloadDay], *, title: str) -> str:
    """Bars, one a day. Colours follow the page that shows it."""
    most = max((day.downloads for day in days), default=0)
    wide, high = _WIDTH - 2 * _EDGE, _HEIGHT - 2 * _EDGE
    step = wide / max(len(days), 1)
    bars = "".join(
        f'<rect x="{_EDGE + place * step:.1f}" y="{_HEIGHT - _EDGE - high * day.downloads / most:.1f}"'
        f' width="{max(step - 1, 0.5):.1f}" height="{high * day.downloads / most:.1f}">'
        f"<title>{day.day}: {day.downloads:,}</title></rect>"
        for place, day in enumerate(days)
        if day.downloads
    )
    total = sum(day.downloads for day in days)
    span = f"{days[0].day} to {days[-1].day}" if days else ""
    label = f"{title}: {total:,} downloads, {span}"
    small = 'font-family="system-ui,sans-serif" font-size="11" fill="#888"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">'
        f'<title>{escape(label)}</title><g fill="#2f6f4f">{bars}</g>'
        f'<path d="M{_EDGE} {_HEIGHT - _EDGE}h{wide}" stroke="#888" stroke-width="1"/>'
        f'<text x="{_EDGE}" y="{_HEIGHT - 8}" {small}>{days[0].day if days else ""}</text>'
        f'<text x="{_WIDTH - _EDGE}" y="{_HEIGHT - 8}" {small} text-anchor="end">{days[-1].day if days else ""}</text>'
        f'<text x="{_EDGE}" y="16" {small}>{most:,} a day at most</text></svg>'
    )
