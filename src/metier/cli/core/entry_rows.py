"""How a catalog's entries look, to a program and to a person."""

from __future__ import annotations

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
_WIDEST_NAME = 34


def entry_row(entry: Entry) -> dict[str, Any]:
    """One entry for a program: what the listing knows without opening a file again."""
    name, description, source, folder, state, reason, offer = entry
    row: dict[str, Any] = {
        "name": name, "description": description, "source": source, "state": state, "reason": reason, "folder": folder,
    }  # fmt: skip
    if offer[5] & (OfferFlag.WARNED | OfferFlag.BAD):
        row["problems"] = [{slot: getattr(problem, slot) for slot in problem.__slots__} for problem in entry.report]
    return row


def glyph(state: State, terminal: Terminal) -> str:
    sign, style = _GLYPHS[state]
    return terminal.paint(sign, style)


def entry_lines(
    entries: Sequence[Entry], terminal: Terminal, agents: Callable[[str], tuple[str, ...]] = lambda _: ()
) -> Iterator[str]:
    """One line each: sign, name, source, the agents that see it, and what it does or why it does not."""
    widest = min(_WIDEST_NAME, max((cell_width(entry.name) for entry in entries), default=0))
    for entry in entries:
        name = truncate(one_line(entry.name), _WIDEST_NAME)
        about = one_line(entry.reason if entry.state is not State.ENABLED else entry.description)
        seen = agents(entry.folder)
        by = f"[{truncate(', '.join(seen), 30)}] " if seen else ""
        used = 2 + widest + 2 + 9 + cell_width(by)
        room = terminal.width - used if terminal.width else None
        text = truncate(about, max(room, 10) if room is not None else None)
        if entry.state is not State.ENABLED:
            text = terminal.paint(text, "dim")
        label = terminal.paint(pad(name, widest), "bold")
        yield f"{glyph(entry.state, terminal)} {label}  {pad(entry.source, 8)} {terminal.paint(by, 'cyan')}{text}".rstrip()


def count(entries: Iterable[Entry]) -> str:
    """`12 enabled, 2 unavailable`."""
    tally: dict[State, int] = {}
    for entry in entries:
        tally[entry.state] = tally.get(entry.state, 0) + 1
    return ", ".join(f"{tally[state]:,} {state}" for state in State if state in tally)
