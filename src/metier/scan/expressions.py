"""Expressions that are searched only where they can match.

Most files hold nothing that a rule looks for. A search for a few letters takes a hundredth of the time of an expression,
so each expression first asks for the literals of which every match contains one. They are read from the expression itself.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

__all__ = ["literals_of", "text_pattern"]

_PART = re.compile(
    r"(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<escape>\\.)|(?P<open>\((?:\?(?:P<\w+>|P=\w+\)|[:=!>]|<[=!]|[a-z]+\)?))?)|(?P<close>\))"
    r"|(?P<or>\|)|(?P<times>(?:[?*+]|\{\d*,?\d*\})[?+]?)|(?P<any>[.^$])|(?P<literal>.)",
    re.DOTALL,
)
_ONCE = re.compile(r"\+|\{[1-9]")
_SHORTEST, _MOST = 2, 60
_LONG = 40
"""In a text below this length, the search itself is as fast."""


def text_pattern(spelled: str, flags: int = 0) -> re.Pattern[str]:
    """Works as `re.compile`, but compiles on first use, and searches only texts that hold a literal of the expression."""
    filtered: Any = _FilteredPattern(spelled, flags)  # Any: it forwards every attribute to the compiled pattern
    pattern: re.Pattern[str] = filtered
    return pattern


class _FilteredPattern:
    def __init__(self, spelled: str, flags: int) -> None:
        self.pattern, self.flags = spelled, flags
        self._ignores_case = bool(flags & re.IGNORECASE)
        self._literals: tuple[str, ...] | None = None

    def search(self, text: str, at: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        found: re.Match[str] | None = self._compiled.search(text, at, end) if self._may_match(text) else None
        return found

    def finditer(self, text: str, at: int = 0, end: int = sys.maxsize) -> Iterator[re.Match[str]]:
        return self._compiled.finditer(text, at, end) if self._may_match(text) else iter(())

    def _may_match(self, text: str) -> bool:
        if len(text) < _LONG:
            return True
        if self._literals is None:
            literals = literals_of(self.pattern) or ("",)
            self._literals = tuple(sorted({one.lower() if self._ignores_case else one for one in literals}))
        if self._ignores_case:
            text = text.lower()
        return any(map(text.__contains__, self._literals))

    def __getattr__(self, name: str) -> Any:  # Any: the type of the compiled pattern's attribute
        found = re.compile(self.pattern, self.flags) if name == "_compiled" else getattr(self._compiled, name)
        # Set on the instance, so that the next access skips this method.
        setattr(self, name, found)
        return found


def literals_of(expression: str) -> frozenset[str]:
    """Returns literals of which every match contains one; nothing if there are none, or too many to ask for."""
    if re.search(r"\(\?[a-z]*[ix]", expression):
        return frozenset()
    parts = list(_PART.finditer(expression))
    found, _ = _alternatives(parts, 0)
    return found if found and len(found) <= _MOST and min(map(len, found)) >= _SHORTEST else frozenset()


def _alternatives(parts: list[re.Match[str]], at: int) -> tuple[frozenset[str], int]:
    """Returns the literals of the alternatives that start here, and the place of what ends them."""
    best: list[frozenset[str]] = []
    while True:
        found, at = _sequence(parts, at)
        best.append(found)
        if at >= len(parts) or parts[at].lastgroup == "close":
            return frozenset().union(*best) if all(best) else frozenset(), at
        at += 1


def _sequence(parts: list[re.Match[str]], at: int) -> tuple[frozenset[str], int]:
    """Returns the best literals of one alternative: those that are rarest, by the length of the shortest."""
    candidates: list[frozenset[str]] = []
    run = ""
    while at < len(parts) and parts[at].lastgroup not in ("or", "close"):
        kind, spelled = parts[at].lastgroup, parts[at][0]
        inner: frozenset[str] = frozenset()
        literal = _literal(kind, spelled)
        at += 1
        if kind == "open" and not spelled.endswith(")"):
            inner, at = _alternatives(parts, at)
            at += 1
            inner = inner if spelled in ("(", "(?:", "(?>") or spelled.startswith("(?P<") else frozenset()
        times = parts[at][0] if at < len(parts) and parts[at].lastgroup == "times" else ""
        at += bool(times)
        if literal and not times:
            run += literal
            continue
        if not times or _ONCE.match(times):
            candidates += [inner, frozenset((run + literal,))]
        candidates.append(frozenset((run,)))
        run = ""
    candidates.append(frozenset((run,)))
    return max((one for one in candidates if one), key=lambda one: (min(map(len, one)), -len(one)), default=frozenset()), at


def _literal(kind: str | None, spelled: str) -> str:
    """Returns the character that a part stands for; empty if it stands for several."""
    if kind == "literal":
        return spelled
    is_one = kind == "escape" and not spelled[1].isalnum()
    return spelled[1] if is_one else ""
