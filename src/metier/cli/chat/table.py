"""Rows of a name and a text, cut to the width of the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from metier.cli.core.terminal import Terminal, cell_width, one_line, pad, truncate

__all__ = ["table"]


def table(terminal: Terminal, rows: list[tuple[str, str]]) -> Iterator[str]:
    widest = max((cell_width(name) for name, _ in rows), default=0)
    for name, about in rows:
        space = terminal.width - widest - 3 if terminal.width else None
        yield f"{terminal.paint(pad(_cell_text(name), widest), 'bold')}  {truncate(one_line(about), space)}".rstrip()


def _cell_text(name: str) -> str:
    """Like `one_line`, but keeps the indentation of a mark."""
    return f"  {one_line(name)}" if name.startswith("  ") else one_line(name)
