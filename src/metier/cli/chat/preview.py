"""What a model would receive, when there is none to receive it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from metier.cli.core.terminal import Terminal, padded, shown, unarmed

__all__ = ["preview_lines"]


def preview_lines(row: dict[str, Any], terminal: Terminal) -> Iterator[str]:
    """Of a turn's row: the skills and why, what each part of the prompt costs, and the prompt itself."""
    prompt = row["prompt"]
    for match in row["selected"]:
        sign, name = terminal.paint("✓", "green"), terminal.paint(shown(match["name"]), "bold")
        yield f"{sign} {name}  {match['confidence']:.0%}  {shown(match['reason'])}"
    if not row["selected"]:
        yield "no skill fits well enough to be activated"
    yield ""
    yield terminal.paint(f"A model would receive about {prompt['tokens']:,} tokens before your message:", "bold")
    for name, tokens in prompt.items():
        if name not in ("tokens", "text"):
            yield f"  {padded(name, 8)} {tokens:>7,}"
    yield ""
    yield from unarmed(prompt["text"]).splitlines()
    yield ""
    yield terminal.paint("user: ", "dim") + shown(row["message"])
