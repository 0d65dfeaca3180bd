"""The prompt of a turn, shown when no model is set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from metier.cli.core.terminal import Terminal, one_line, pad, strip_control_chars

__all__ = ["preview_lines"]


def preview_lines(row: dict[str, Any], terminal: Terminal, *, brief: bool = False) -> Iterator[str]:
    """The selected skills with reasons, the tokens of each part of the prompt, and the prompt unless `brief`."""
    prompt = row["prompt"]
    for match in row["selected"]:
        sign, name = terminal.paint("✓", "green"), terminal.paint(one_line(match["name"]), "bold")
        yield f"{sign} {name}  {match['confidence']:.0%}  {one_line(match['reason'])}"
    if not row["selected"]:
        yield "No skill fits well enough to be activated"
    if brief:
        size = f"A model would receive about {prompt['tokens']:,} tokens before your message; /prompt shows them"
        yield terminal.paint(size, "dim")
        return
    yield ""
    yield terminal.paint(f"A model would receive about {prompt['tokens']:,} tokens before your message:", "bold")
    for name, tokens in prompt.items():
        if name not in ("tokens", "text"):
            yield f"  {pad(name, 8)} {tokens:>7,}"
    yield ""
    yield from strip_control_chars(prompt["text"]).splitlines()
    yield ""
    yield terminal.paint("user: ", "dim") + one_line(row["message"])
