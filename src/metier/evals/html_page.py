"""One HTML page without external resources, for light and dark mode.

Text of skills, models and scripts is escaped by those who fill the page, and the page forbids scripts as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path

from .charts import as_text

__all__ = ["html_page", "number_cell", "table"]

_STYLE = Path(__file__).with_name("page.css")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html_page(title: str, parts: Iterable[str]) -> str:
    """Returns a page with these parts, which are HTML already."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><meta name="color-scheme" content="light dark">'
        f"<title>{as_text(title)}</title><style>{_STYLE.read_text(encoding='utf-8')}</style></head>\n<body><h1>{as_text(title)}</h1>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def table(head: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML already; numbers, and the heads above them, stand to the right."""
    lines = [[cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in row] for row in rows]
    marks = [' class="n"' if cell.startswith('<td class="n"') else "" for cell in lines[0]] if lines else []
    heads = [f"<th{mark}>{as_text(name)}</th>" for name, mark in zip_longest(head, marks, fillvalue="")]
    body = "".join(f"<tr>{''.join(line)}</tr>" for line in lines)
    return f'<div class="scroll"><table><tr>{"".join(heads)}</tr>{body}</table></div>'


def number_cell(text: str) -> str:
    return f'<td class="n">{as_text(text)}</td>'
