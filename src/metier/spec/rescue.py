"""The most common mistake in public skills: `description: Use this when: asked`, a second colon without quotes.

YAML sees a key inside a value and refuses the file. The author's meaning is plain, so we quote the value and try again;
the client guide asks for it. Only lines that look like `key: words: words` are touched, never quoted or block values.
"""

from __future__ import annotations

import re

__all__ = ["quote_colons"]

_LINE = re.compile(r"(?P<lead>[ \t]*(?:-[ \t]+)?)(?P<key>[A-Za-z_][\w.-]*):[ \t]+(?P<value>[^\s\"'\[{|>&*!%@`#].*)")
_BLOCK = re.compile(r"(?P<lead>[ \t]*(?:-[ \t]+)?).*:[ \t]+[|>][-+0-9]*[ \t]*(?:#.*)?")
_COLON = re.compile(r":(?=[ \t]|$)")


def quote_colons(head: str) -> tuple[str, list[tuple[str, int, int]]]:
    """`head` with such values quoted, and for each its key, line (from 0) and column (from 1)."""
    lines = head.split("\n")
    changed: list[tuple[str, int, int]] = []
    at = 0
    while at < len(lines):
        match = _LINE.fullmatch(lines[at])
        block = _BLOCK.fullmatch(lines[at])
        end = at + 1
        if block:
            # Inside a block every character is text already, colons too.
            end = _end(lines, end, len(block["lead"]), over_blanks=True)
        elif match:
            # A plain value goes on over the following lines that stand deeper than its key.
            end = _end(lines, end, len(match["lead"]), over_blanks=False)
            value = "\n".join([match["value"], *lines[at + 1 : end]])
            if _COLON.search(value):
                lines[at:end] = (f"{match['lead']}{match['key']}: " + quoted(value)).split("\n")
                changed.append((match["key"], at, match.start("value") + 1))
        at = end
    return "\n".join(lines), changed


def quoted(value: str) -> str:
    """A plain value as a single-quoted one: line folding stays the same, and only quotes need doubling."""
    return "'" + value.rstrip().replace("'", "''") + "'"


def _end(lines: list[str], at: int, indent: int, *, over_blanks: bool) -> int:
    """Where the value ends that began before line `at`: at the first line that stands no deeper than its key."""
    while at < len(lines) and (_indent(lines[at]) > indent if lines[at].strip() else over_blanks):
        at += 1
    return at


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
