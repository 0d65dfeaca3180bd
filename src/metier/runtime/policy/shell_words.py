"""Words of a command line, and whether a word with wildcards can stand for another."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from glob import escape

from metier.lazy import lazy_pattern
from metier.values import dataclass

__all__ = ["ShellWord", "globs_meet", "literal_word"]

_WILD = lazy_pattern(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class ShellWord:
    """A word with its quotes resolved."""

    text: str
    glob: str
    """The text as a pattern: its own wildcards, and `*` for each dynamic part."""
    is_dynamic: bool = False
    """It can become any number of any words."""

    @property
    def is_wild(self) -> bool:
        return _WILD.search(self.glob) is not None and self.glob != escape(self.text)

    def may_be(self, wanted: str) -> bool:
        """Returns True if the word can stand for `wanted`, which may have wildcards too."""
        if self.is_dynamic:
            return True
        if not self.is_wild:
            return fnmatchcase(self.text, wanted)
        return globs_meet(self.glob, wanted)


def globs_meet(one: str, other: str, *, crosses: bool = True) -> bool:
    """Returns True if some text matches both patterns. Without `crosses` a `*` of the first stops at a slash."""
    left, right = _pieces(one), _pieces(other)
    reached, todo = {(0, 0)}, [(0, 0)]
    while todo:
        i, j = todo.pop()
        if i == len(left) and j == len(right):
            return True
        a, b = left[i : i + 1], right[j : j + 1]
        steps = []
        if a == ["*"]:
            steps.append((i + 1, j))
            if b and b != ["*"] and (crosses or b != ["/"]):
                steps.append((i, j + 1))
        if b == ["*"]:
            steps.append((i, j + 1))
            if a and a != ["*"]:
                steps.append((i + 1, j))
        if a and b and "*" not in (a[0], b[0]) and (a == b or "?" in (a[0], b[0])):
            steps.append((i + 1, j + 1))
        new = [step for step in steps if step not in reached]
        reached.update(new)
        todo += new
    return False


def _pieces(glob: str) -> list[str]:
    """The characters of a pattern: `*`, `?` for any one, `[*]` for an escaped one."""
    pieces = []
    for escaped, group, char in re.findall(r"\[([*?\[])\]|(\[!?\]?[^]]*\])|(.)", glob, re.DOTALL):
        pieces.append(f"[{escaped}]" if escaped else "?" if group else char)
    return pieces


def literal_word(text: str) -> ShellWord:
    return ShellWord(text, escape(text))
