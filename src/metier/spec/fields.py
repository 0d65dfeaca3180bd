"""The two fields of the standard that have a grammar of their own: `name` and `allowed-tools`.

People write `allowed-tools` as a list, with commas or with spaces. All forms are read, and the standard's form is written. A
tool may carry a pattern with spaces in it, `Bash(git add *)`, so parentheses hold a tool together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from metier.errors import InvalidNameError
from metier.values import dataclass

__all__ = ["MAX_NAME_LENGTH", "SkillName", "format_tools", "has_outer_comma", "is_balanced", "is_name", "parse_tools"]

MAX_NAME_LENGTH = 64
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def is_name(text: str) -> bool:
    """Returns whether the text is lowercase words joined by single hyphens."""
    # The standard's page says a-z; skills-ref also accepts other alphabets. We write names that every client can read.
    return len(text) <= MAX_NAME_LENGTH and _NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, order=True)
class SkillName:
    """A valid skill name. Raises InvalidNameError for any other text."""

    text: str

    def __post_init__(self) -> None:
        if not is_name(self.text):
            raise InvalidNameError(self.text)

    def __str__(self) -> str:
        return self.text


def parse_tools(text: str) -> tuple[str, ...]:
    """Returns the tools in a text that separates them by spaces, commas or both."""
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
    """Returns whether a comma stands outside all parentheses."""
    depth = 0
    for char in text:
        depth = max(0, depth + (char == "(") - (char == ")"))
        if char == "," and depth == 0:
            return True
    return False


def is_balanced(text: str) -> bool:
    """Returns whether every parenthesis has a partner."""
    depth = 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return False
    return depth == 0
