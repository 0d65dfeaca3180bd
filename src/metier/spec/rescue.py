"""The most common mistake in public skills: `description: Use this when: asked`, a second colon without quotes.

YAML sees a key inside a value and refuses the file. The author's meaning is plain, so we quote the value and try again;
the client guide asks for it. Only lines that look like `key: words: words` are touched, never quoted or block values.
"""

from __future__ import annotations

import re

__all__ = ["quote_colons"]

_LINE = re.compile(r"(?P<lead>[ \t]*(?:-[ \t]+)?)(?P<key>[A-Za-z_][\w.-]*):[ \t]+(?P<value>[^\s\"'\[{|>&*!%@`#].*)")
_COLON = re.compile(r":(?=[ \t]|$)")


def quote_colons(head: str) -> tuple[str, list[tuple[str, int, int]]]:
    """`head` with such values quoted, and for each its key, line (from 0) and column (from 1)."""
    lines = head.split("\n")
    changed: list[tuple[str, int, int]] = []
    at = 0
    while at < len(lines):
        match = _LINE.fullmatch(lines[at])
        end = at + 1
        if match:
            indent = len(match["lead"])
            # A plain value goes on over the following lines that stand deeper than its key.
            while end < len(lines) and lines[end].strip() and _indent(lines[end]) > indent:
                end += 1
            value = "\n".join([match["value"], *lines[at + 1 : end]])
            if _COLON.search(value):
                lines[at:end] = (f"{match['lead']}{match['key']}: " + quoted(value)).split("\n")
                changed.append((match["key"], at, match.start("value") + 1))
        at = end
    return "\n".join(lines), changed


def quoted(value: str) -> str:
    """A plain value as a single-quoted one: line folding stays the same, and only quotes need doubling."""
    return "'" + value.rstrip().replace("'", "''") + "'"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
