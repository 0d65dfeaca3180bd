"""Phrases that are looked up in any text, fast and with a bound that holds for every input.

A phrase starts with one of a few literal beginnings. Those are found by plain search; only there is the expression tried, and
only forwards over a few hundred characters. So the cost is (places where a beginning stands) times (a constant), the places
are capped, and a text that reaches the cap is reported (SK902) rather than searched for ever.

In an expression a space means one to eight spaces (a line break is one), ` ?` up to eight, and `~` a gap inside a sentence
of up to eighty characters (`\\~` is the character). Expressions are compiled when one of their beginnings is first met.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from metier.scan.collector import FindingCollector
from metier.scan.scale import Confidence
from metier.scan.text import SkillText, TextKind
from metier.values import dataclass

__all__ = ["MOST_PLACES", "Phrase", "look_up", "phrase"]

MOST_PLACES = 3_000
_WINDOW = 700


@dataclass(frozen=True, slots=True, eq=False)  # rows of tables, which are keys of caches: hashing all they say takes longer
class Phrase:
    code: str
    message: str
    beginnings: tuple[str, ...]
    spelled: str
    confidence: Confidence | None
    kinds: frozenset[TextKind]

    @property
    def expression(self) -> re.Pattern[str]:
        return _compiled(self.spelled)


_ALL = frozenset(TextKind)


def phrase(
    code: str, message: str, beginnings: str, rest: str, confidence: Confidence | None = None, kinds: Iterable[TextKind] = _ALL
) -> Phrase:
    """`beginnings` are separated by `|`; the expression is matched from a beginning on, and includes it."""
    return Phrase(code, message, tuple(beginnings.split("|")), rest, confidence, frozenset(kinds))


_NOTATION = re.compile(r"\\.|\[\^?\]?[^\]]*\]| \?| |~")
_MEANINGS = {" ": " {1,8}", " ?": " {0,8}", "~": "[^.!?;]{0,80}?", r"\~": "~"}


@cache
def _compiled(spelled: str) -> re.Pattern[str]:
    return re.compile(_NOTATION.sub(lambda found: _MEANINGS.get(found[0], found[0]), spelled))


def look_up(phrases: tuple[Phrase, ...], text: SkillText, notes: FindingCollector) -> None:
    low = text.low
    flooded = False
    for beginning, wanted in _by_beginning(phrases, text.kind):
        if beginning in low:
            places = _places(low, beginning)
            flooded = flooded or len(places) >= MOST_PLACES
            for one in wanted:
                _try(one, places, text, notes)
    if flooded:
        notes.add("SK902", "too many beginnings of suspicious phrases to look at each", file=text.path, line=text.first)


@cache
def _by_beginning(phrases: tuple[Phrase, ...], kind: TextKind) -> tuple[tuple[str, tuple[Phrase, ...]], ...]:
    """Each beginning once, with the phrases of this kind of text that start with it."""
    found: dict[str, list[Phrase]] = {}
    for one in phrases:
        if kind in one.kinds:
            for beginning in one.beginnings:
                found.setdefault(beginning, []).append(one)
    return tuple((beginning, tuple(wanted)) for beginning, wanted in found.items())


def _places(low: str, beginning: str) -> list[int]:
    """Where it stands as the start of a word."""
    places: list[int] = []
    at = low.find(beginning)
    is_word = beginning[0].isalnum()
    while at >= 0 and len(places) < MOST_PLACES:
        if not (is_word and at and low[at - 1].isalnum()):
            places.append(at)
        at = low.find(beginning, at + len(beginning))
    return places


def _try(one: Phrase, places: list[int], text: SkillText, notes: FindingCollector) -> None:
    after = -1
    expression = one.expression
    for at in places:
        if at < after:
            continue
        found = expression.match(text.low, at, at + _WINDOW)
        if found:
            after = found.end()
            notes.find(one.code, one.message, text=text, at=at, end=found.end(), confidence=one.confidence)
