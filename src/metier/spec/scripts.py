"""What a script says about itself, read from its text and never by running it."""

from __future__ import annotations

import re

__all__ = ["script_summary"]

_DOCSTRING = re.compile(r'^(?:[rRuU]?)("""|\'\'\')\s*(.+?)(?:\n|\1)', re.MULTILINE)
_COMMENT = re.compile(r"^(?:#(?!!)|//|--|;)\s*([A-Za-z].*)$", re.MULTILINE)
_LOOKED_AT = 4_000
_LONGEST = 200


def script_summary(source: str) -> str:
    """The first line of its docstring, else its first comment in words; empty when it has neither."""
    head = source[:_LOOKED_AT]
    # The block of inline metadata (PEP 723) is comments too, and says nothing about what the script does.
    head = re.sub(r"^# /// script$.*?^# ///$", "", head, flags=re.MULTILINE | re.DOTALL)
    found = _DOCSTRING.search(head)
    if found:
        return found[2].strip()[:_LONGEST]
    comment = _COMMENT.search(head)
    return comment[1].strip()[:_LONGEST] if comment else ""
