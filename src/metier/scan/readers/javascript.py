"""JavaScript and TypeScript as tokens. The reader separates calls, strings and comments, and never fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import NamedTuple

from metier.lazy import lazy_pattern
from metier.scan.text import SkillText
from metier.values import dataclass, field

__all__ = ["MOST_TOKENS", "JavaScriptCall", "JavaScriptSource", "JavaScriptToken", "read_script", "statements"]

MOST_TOKENS = 120_000
LONGEST_STATEMENT = 600
_MOST_ARGUMENTS = 200
_MARKS = frozenset(("(", ")", ";", "{", "}", "const", "let", "var", "return"))
_TOKEN = lazy_pattern(
    r"\s*(?:(?P<skip>//[^\n]*|/\*.{0,100000}?(?:\*/|\Z))|(?P<string>'(?:[^'\\\n]|\\.)*'?|\"(?:[^\"\\\n]|\\.)*\"?|`(?:[^`\\]"
    r"|\\.){0,20000}`?)|(?P<name>[A-Za-z_$][\w$]*)|(?P<number>\d[\w.]*)|(?P<mark>=>|[^\w\s])|(?P<rest>\w|\Z))",
    re.DOTALL,
)


class JavaScriptToken(NamedTuple):
    kind: str
    text: str
    at: int


class JavaScriptCall(NamedTuple):
    name: str
    """The dotted name `a.b.c`."""
    start: int
    """The index of the name's first token."""
    opened: int
    """The index of the parenthesis."""


@dataclass(slots=True)
class JavaScriptSource:
    text: SkillText
    tokens: list[JavaScriptToken]
    is_cut: bool
    """The script has more tokens than are read."""
    constants: dict[str, str] = field(default_factory=dict)
    """The strings that names are assigned."""

    @property
    def names(self) -> set[str]:
        return {token.text for token in self.tokens if token.kind == "name"}

    def calls(self) -> Iterator[JavaScriptCall]:
        """Yields every call of a name."""
        tokens = self.tokens
        for opened, mark in enumerate(tokens):
            if mark.text != "(" or not opened or tokens[opened - 1].kind != "name":
                continue
            start, parts = opened - 1, [tokens[opened - 1].text]
            while start > 1 and tokens[start - 1].text == "." and len(parts) < 12:
                before = start - 3 if start > 2 and tokens[start - 2].text == "?" else start - 2
                if tokens[before].kind != "name":
                    break
                parts.append(tokens[before].text)
                start = before
            yield JavaScriptCall(".".join(reversed(parts)), start, opened)

    def arguments(self, opened: int) -> list[JavaScriptToken]:
        """Returns the tokens up to the closing parenthesis, with a limit."""
        depth = 0
        for place in range(opened, min(len(self.tokens), opened + _MOST_ARGUMENTS)):
            mark = self.tokens[place].text
            depth += (mark in "([{" and len(mark) == 1) - (mark in ")]}" and len(mark) == 1)
            if depth == 0:
                return self.tokens[opened + 1 : place]
        return self.tokens[opened + 1 : opened + _MOST_ARGUMENTS]

    def strings(self, tokens: list[JavaScriptToken]) -> str:
        """Returns the strings of the tokens, with constants resolved."""
        return " ".join(
            one.text[1:].rstrip("'\"`") if one.kind == "string" else self.constants.get(one.text, "") for one in tokens
        )


def read_script(text: SkillText) -> JavaScriptSource:
    wanted = ((found.lastgroup or "", found) for found in _TOKEN.finditer(text.text))
    read = [
        JavaScriptToken(kind, found[kind], found.start(kind))
        for kind, found in islice(((kind, found) for kind, found in wanted if kind not in ("skip", "rest")), MOST_TOKENS + 1)
    ]
    tokens = _with_modules(read[:MOST_TOKENS])
    return JavaScriptSource(text, tokens, len(read) > MOST_TOKENS, _constants(tokens))


def _with_modules(tokens: list[JavaScriptToken]) -> list[JavaScriptToken]:
    """Rewrites `require("https").get` to `https.get`."""
    found: list[JavaScriptToken] = []
    at = 0
    while at < len(tokens):
        one = tokens[at]
        if one.text in ("require", "import") and at + 3 < len(tokens) and tokens[at + 1].text == "(":
            module = tokens[at + 2].text.strip("'\"`").removeprefix("node:")
            if tokens[at + 2].kind == "string" and tokens[at + 3].text == ")" and re.fullmatch(r"[A-Za-z_][\w-]*", module):
                found.append(JavaScriptToken("name", module.replace("-", "_"), one.at))
                at += 4
                continue
        found.append(one)
        at += 1
    return found


def _constants(tokens: list[JavaScriptToken]) -> dict[str, str]:
    """Returns the names that are assigned text, with concatenated pieces joined."""
    found: dict[str, str] = {}
    for place, (name, mark) in enumerate(pairwise(tokens)):
        if name.kind != "name" or mark.text not in ("=", ":") or len(found) >= 5_000:
            continue
        pieces: list[str] = []
        for one in tokens[place + 2 : place + 14]:
            if one.kind == "string":
                pieces.append(one.text.strip("'\"`"))
            elif one.text not in ("+", ".") and (one.kind != "name" or one.text in ("const", "let", "var")):
                break
        if pieces:
            found[name.text] = "".join(pieces)
    return found


def statements(tokens: list[JavaScriptToken]) -> Iterator[tuple[int, int]]:
    """Yields the start and the end of each statement. The arguments of a call stay with it."""
    start = opened = 0
    before = ""
    for place, (_, mark, _) in enumerate(tokens):
        if mark in _MARKS:
            opened += (mark == "(") - (mark == ")")
            # An object among the arguments of a call, or on the right of `=`, belongs to the statement.
            is_inside = (opened > 0 or before in ("=", ",", ":")) and place - start < LONGEST_STATEMENT
            is_end = mark in (";", "{", "}") or (mark in ("const", "let", "var", "return") and place > start)
            if is_end and not is_inside:
                if place > start:
                    yield start, min(place, start + LONGEST_STATEMENT)
                start, opened = place + (mark in (";", "{", "}")), 0
        before = mark
    if start < len(tokens):
        yield start, min(len(tokens), start + LONGEST_STATEMENT)
