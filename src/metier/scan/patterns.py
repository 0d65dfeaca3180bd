"""Patterns that the rules are made of: phrases and sentence rules, read from text files on first use.

The scan has hundreds of regular expressions, compiled on first use. Compiling them all takes longer than reading most skills,
and an ordinary skill needs few of them.

A phrase starts with one of a few literal beginnings. In its expression a space means one to eight spaces (a line break is
one), ` ?` up to eight, and `~` a gap inside a sentence of up to eighty characters (`\\~` is the character).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Any

from metier.lazy import lazy_pattern
from metier.values import dataclass

from .scale import Confidence
from .text import TextKind

__all__ = [
    "Deeds",
    "Phrase",
    "SentenceRule",
    "lazy_section",
    "read_deeds",
    "read_phrases",
    "read_sentence_rules",
    "read_table",
    "words",
]

_NOTATION = re.compile(r"\\.|\[\^?\]?[^\]]*\]| \?| |~")
_MEANINGS = {" ": " {1,8}", " ?": " {0,8}", "~": "[^.!?;]{0,80}?", r"\~": "~"}


def words(text: str) -> frozenset[str]:
    """Returns the words of a text as a set."""
    return frozenset(text.split())


@dataclass(frozen=True, eq=False)  # compared by identity: rows are cache keys, and hashing their text is slow
class Phrase:
    code: str
    message: str
    beginnings: tuple[str, ...]
    spelled: str
    confidence: Confidence | None
    kinds: frozenset[TextKind]

    @cached_property
    def expression(self) -> re.Pattern[str]:
        return re.compile(_NOTATION.sub(lambda found: _MEANINGS.get(found[0], found[0]), self.spelled))


@dataclass(frozen=True, slots=True, eq=False)
class SentenceRule:
    """Kinds of words that must meet in one sentence, in any order."""

    code: str
    message: str
    needs: tuple[re.Pattern[str], ...]
    stems: tuple[frozenset[str], ...]
    """For each need of which it can be said, the first letters of words of which one must be there; the smallest set first."""
    unless: re.Pattern[str] | None
    confidence: Confidence
    unknown_host: bool = False
    """The sentence must also name a host that the skill is not about."""
    spans_sentences: bool = False
    """A second sentence may complete it: "Raise the totals. Do not mention it." """


class _Section:
    """A section of a table as one expression, read and compiled on first use."""

    def __init__(self, table: str, name: str) -> None:
        self._table, self._name = table, name

    def __getattr__(self, attribute: str) -> Any:  # Any: the type of the compiled pattern's attribute
        compiled = re.compile("|".join(_sections(self._table)[self._name]))
        for one in ("search", "match", "fullmatch", "finditer", "pattern"):
            setattr(self, one, getattr(compiled, one))
        return getattr(compiled, attribute)


def lazy_section(table: str, name: str) -> re.Pattern[str]:
    """Returns the section of a table, whose lines are alternatives, as an expression."""
    lazy: Any = _Section(table, name)  # Any: it forwards attributes to the compiled pattern
    pattern: re.Pattern[str] = lazy
    return pattern


@dataclass(frozen=True, slots=True)
class Deeds:
    """Sections of a table whose expressions start with a word: only those with a word of the sentence are tried."""

    by_stem: dict[str, tuple[tuple[str, re.Pattern[str]], ...]]
    rest: tuple[tuple[str, re.Pattern[str]], ...]

    def find(self, words: str, stems: frozenset[str], *, is_plain: bool = False) -> dict[str, list[re.Match[str]]]:
        """Returns the matches of each section. With `is_plain`, expressions that start with no Latin letter are left out."""
        found: dict[str, list[re.Match[str]]] = {}
        for stem in stems & self.by_stem.keys():
            for name, expression in self.by_stem[stem]:
                match = expression.search(words)
                if match is not None:
                    found.setdefault(name, []).append(match)
        for name, expression in () if is_plain else self.rest:
            match = expression.search(words)
            if match is not None:
                found.setdefault(name, []).append(match)
        return found


@cache
def read_deeds(table: str) -> Deeds:
    """Returns the sections of a table that are marked `deed`."""
    by_stem: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    rest = []
    for head, _, parts in read_table(table):
        for line in parts[0][1] if "deed" in head else ():
            stems = _stems(line.removeprefix(r"\b"))
            one = (head[0], lazy_pattern(line))
            for stem in stems or ():
                by_stem.setdefault(stem, []).append(one)
            if not stems:
                rest.append(one)
    return Deeds({stem: tuple(found) for stem, found in by_stem.items()}, tuple(rest))


@cache
def _sections(table: str) -> dict[str, list[str]]:
    return {head[0]: parts[0][1] for head, _, parts in read_table(table)}


@cache
def read_phrases(name: str) -> tuple[Phrase, ...]:
    """Returns the phrases of a table."""
    found = []
    for head, message, parts in read_table(name):
        code, confidence, kinds = head
        lists = dict(parts)
        found.append(
            Phrase(
                code,
                message,
                tuple(beginning.removesuffix("|") for beginning in lists["begin"]),
                lists["match"][0] if len(lists["match"]) == 1 else f"(?:{'|'.join(lists['match'])})",
                None if confidence == "plain" else Confidence(confidence),
                frozenset(TextKind) if kinds == "any" else frozenset(map(TextKind, kinds.split("+"))),
            )
        )
    return tuple(found)


@cache
def read_sentence_rules() -> tuple[SentenceRule, ...]:
    """Returns the rules of data/sentences.txt."""
    lists: dict[str, list[str]] = {}
    found = []
    for head, message, parts in read_table("sentences.txt"):
        parts = [(part, [one for line in lines for one in lists.get(line, [line])]) for part, lines in parts]
        if head[0].startswith("@"):
            lists[head[0]] = parts[0][1]
            continue
        needs = [lines for part, lines in parts if part == "need"]
        unless = next((lines for part, lines in parts if part == "unless"), None)
        stems = [stems for lines in needs if (stems := _stems_of(lines)) is not None]
        found.append(
            SentenceRule(
                head[0],
                message,
                tuple(lazy_pattern(rf"(?<![\w-])(?:{'|'.join(lines)})") for lines in needs),
                tuple(sorted(stems, key=len)),
                lazy_pattern("|".join(unless)) if unless else None,
                Confidence(head[1]),
                "host" in head,
                "pair" in head,
            )
        )
    return tuple(found)


def read_table(name: str) -> Iterator[tuple[list[str], str, list[tuple[str, list[str]]]]]:
    """Yields the words of each row's head, its message, and its parts with their lines."""
    # Not importlib.resources, whose import takes 9 ms because it also loads every compression library.
    from pkgutil import get_data

    head: list[str] = []
    message, parts = "", list[tuple[str, list[str]]]()
    for line in (get_data("metier.scan", f"data/{name}") or b"").decode().splitlines():
        if line.startswith("["):
            if head:
                yield head, message, parts
            inner, _, message = line[1:].partition("] ")
            head, parts = inner.partition("]")[0].split(), []
        elif line.startswith("  "):
            if not parts:
                parts.append(("", []))
            parts[-1][1].append(line[2:])
        elif line and not line.startswith("#"):
            parts.append((line, []))
    if head:
        yield head, message, parts


_LONGEST_STEM = 4


def _stems_of(alternatives: list[str]) -> frozenset[str] | None:
    found: set[str] = set()
    for alternative in alternatives:
        stems = _stems(alternative)
        if stems is None:
            return None
        found |= stems
    return frozenset(found)


def _stems(expression: str) -> set[str] | None:
    """Returns the letters with which every match starts; None if a match can start with anything else."""
    if expression.startswith("(?:"):
        inner, rest = _group(expression)
        if rest[:1] in ("?", "*", "{"):
            return None
        found: set[str] = set()
        for one in inner:
            stems = _stems(one) if one else _stems(rest)
            if stems is None:
                return None
            found |= stems
        return found
    literal = re.match(r"[a-z]+", expression)
    if literal is None:
        return None
    end = literal.end() - (expression[literal.end() : literal.end() + 1] in ("?", "*", "{"))
    return {expression[: min(end, _LONGEST_STEM)]} if end >= 2 else None


def _group(expression: str) -> tuple[list[str], str]:
    """Returns the alternatives of the group that the expression starts with, and what follows it."""
    depth, start, inner = 0, 3, list[str]()
    for found in re.finditer(r"\\.|\[\^?\]?[^\]]*\]|[(|)]", expression):
        if found[0] == "(":
            depth += 1
        elif found[0] in ")|" and depth == 1:
            inner.append(expression[start : found.start()])
            start = found.end()
            if found[0] == ")":
                return inner, expression[found.end() :]
        elif found[0] == ")":
            depth -= 1
    return [""], ""
