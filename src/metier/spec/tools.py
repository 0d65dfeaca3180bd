"""`allowed-tools`, read in every form people write and written in the standard's one.

A tool may carry an argument pattern with spaces in it, `Bash(git add *)`, so parentheses hold a word together.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["format_tools", "parse_tools"]


def parse_tools(text: str) -> tuple[str, ...]:
    """The tools in a text that separates them by spaces, commas or both."""
    tools: list[str] = []
    word: list[str] = []
    depth = 0
    for char in text:
        if depth == 0 and (char.isspace() or char == ","):
            if word:
                tools.append("".join(word))
                word.clear()
            continue
        # A stray closing parenthesis stays part of its word; it must not make the next opening one look closed.
        depth = max(0, depth + (char == "(") - (char == ")"))
        word.append(char)
    if word:
        tools.append("".join(word).rstrip())
    return tuple(tools)


def format_tools(tools: Iterable[str]) -> str:
    return " ".join(tools)


def has_outer_comma(text: str) -> bool:
    depth = 0
    for char in text:
        depth = max(0, depth + (char == "(") - (char == ")"))
        if char == "," and depth == 0:
            return True
    return False


def is_balanced(text: str) -> bool:
    depth = 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return False
    return depth == 0
