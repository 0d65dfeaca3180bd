"""Entries of a catalog as JSON rows and as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from metier.catalog import Entry, OfferFlag, State

from .terminal import Terminal, cell_width, one_line, pad, truncate

__all__ = ["entry_lines", "entry_row", "glyph"]

_GLYPHS = {
    State.ENABLED: ("✓", "green"),
    State.DISABLED: ("○", "dim"),
    State.UNAVAILABLE: ("✗", "red"),
    State.SHADOWED: ("≡", "dim"),
    State.UNTRUSTED: ("?", "yellow"),
    State.SKIPPED: ("!", "red"),
}
_MAX_NAME_WIDTH = 34


def entry_row(entry: Entry) -> dict[str, Any]:
    """Returns one entry as JSON, without opening its file."""
    row: dict[str, Any] = {
        "name": entry.name,
        "description": entry.description,
        "source": entry.source,
        "state": entry.state,
        "reason": entry.reason,
        "folder": entry.folder,
    }
    if version := entry.version:
        row["version"] = version
    if entry.offer.flags & (OfferFlag.WARNED | OfferFlag.BAD):
        row["problems"] = [{slot: getattr(problem, slot) for slot in problem.__slots__} for problem in entry.report]
    return row


def glyph(state: State, terminal: Terminal) -> str:
    sign, style = _GLYPHS[state]
    return terminal.paint(sign, style)


def entry_lines(
    entries: Sequence[Entry], terminal: Terminal, agents: Callable[[str], tuple[str, ...]] = lambda _: ()
) -> Iterator[str]:
    """Yields one line per entry: sign, name, source, agents that see it, and its description or why it is not enabled."""
    count = Counter(entry.name for entry in entries)
    # Of a skill with several versions, each is listed under the name that selects it.
    labels = [f"{entry.name}@{entry.version}" if count[entry.name] > 1 and entry.version else entry.name for entry in entries]
    name_width = min(_MAX_NAME_WIDTH, max(map(cell_width, labels), default=0))
    for entry, full_name in zip(entries, labels, strict=True):
        name = truncate(one_line(full_name), _MAX_NAME_WIDTH)
        about = one_line(entry.reason if entry.state is not State.ENABLED else entry.description)
        names = agents(entry.folder)
        by = f"[{truncate(', '.join(names), 30)}] " if names else ""
        used = 2 + name_width + 2 + 9 + cell_width(by)
        text = truncate(about, max(terminal.width - used, 10) if terminal.width else None)
        if entry.state is not State.ENABLED:
            text = terminal.paint(text, "dim")
        label = terminal.paint(pad(name, name_width), "bold")
        yield f"{glyph(entry.state, terminal)} {label}  {pad(entry.source, 8)} {terminal.paint(by, 'cyan')}{text}".rstrip()


def count_by_state(entries: Iterable[Entry]) -> str:
    """Returns a summary such as `12 enabled, 2 unavailable`."""
    tally: dict[State, int] = {}
    for entry in entries:
        tally[entry.state] = tally.get(entry.state, 0) + 1
    return ", ".join(f"{tally[state]:,} {state}" for state in State if state in tally)
