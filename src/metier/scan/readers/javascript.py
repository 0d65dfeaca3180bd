"""JavaScript and TypeScript as tokens. The reader separates calls, strings and comments, and never fails."""

from __future__ import annotations

import re
from itertools import islice, pairwise

from metier.lazy import lazy_pattern
from metier.scan.text import SkillText
from metier.values import dataclass, field

__all__ = ["MOST_TOKENS", "JavaScriptSource", "JavaScriptToken", "read_script", "statements"]

MOST_TOKENS = 120_000
LONGEST_STATEMENT = 600
_MOST_ARGUMENTS = 200
_TOKEN = lazy_pattern(
    r"(?P<skip>\s+|//[^\n]*|/\*.{0,100000}?(?:\*/|\Z))|(?P<string>'(?:[^'\\\n]|\\.)*'?|\"(?:[^\"\\\n]|\\.)*\"?|`(?:[^`\\]"
    r"|\\.){0,20000}`?)|(?P<name>[A-Za-z_$][\w$]*)|(?P<number>\d[\w.]*)|(?P<mark>=>|[^\w\s])",
    re.DOTALL,
)


@dataclass(slots=True)
class JavaScriptToken:
    kind: str
    text: str
    at: int


@dataclass(slots=True)
class JavaScriptSource:
    text: SkillText
    tokens: list[JavaScriptToken]
    is_cut: bool
    """The script has more tokens than are read."""
    constants: dict[str, str] = field(default_factory=dict)
    """The strings that names are assigned."""

    def dotted(self, tokens: list[JavaScriptToken], at: int) -> tuple[str, int]:
        """Returns the dotted name `a.b.c` that starts here, and the index after it."""
        if tokens[at].kind != "name":
            return "", at
        parts = [tokens[at].text]
        at += 1
        while at + 1 < len(tokens) and tokens[at].text in (".", "?") and len(parts) < 12:
            step = 1 if tokens[at].text == "." else 2
            if at + step >= len(tokens) or tokens[at + step].kind != "name":
                break
            parts.append(tokens[at + step].text)
            at += step + 1
        return ".".join(parts), at

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
    wanted = (
        JavaScriptToken(found.lastgroup or "", found[0], found.start())
        for found in _TOKEN.finditer(text.text)
        if found.lastgroup != "skip"
    )
    read = list(islice(wanted, MOST_TOKENS + 1))
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


def statements(tokens: list[JavaScriptToken]) -> list[list[JavaScriptToken]]:
    """Splits the tokens into statements. The arguments of a call stay with it."""
    found: list[list[JavaScriptToken]] = []
    start = opened = 0
    for place, token in enumerate(tokens):
        opened += (token.text == "(") - (token.text == ")")
        before = tokens[place - 1].text if place else ""
        # An object among the arguments of a call, or on the right of `=`, belongs to the statement.
        is_inside = (opened > 0 or before in ("=", ",", ":")) and place - start < LONGEST_STATEMENT
        is_end = token.text in (";", "{", "}") or (token.text in ("const", "let", "var", "return") and place > start)
        if is_end and not is_inside:
            found.append(tokens[start:place])
            start, opened = place + (token.text in (";", "{", "}")), 0
    found.append(tokens[start:])
    return [one[:LONGEST_STATEMENT] for one in found if one]
