"""Phrases looked up in any text, fast and with a bound that holds for every input.

Beginnings are found by plain search. The expression is tried only there, and only forwards over a few hundred characters. So
the cost is (places where a beginning stands) times (a constant), the places are capped, and a text that reaches the cap is
reported (SK902).
"""

from __future__ import annotations

from functools import cache

from metier.scan.collector import FindingCollector
from metier.scan.expressions import text_pattern
from metier.scan.patterns import Phrase, read_phrases
from metier.scan.text import SkillText, TextKind

__all__ = ["CODE_PHRASES", "MOST_PLACES", "PHRASES", "PROSE_PHRASES", "look_up", "phrases_of"]

PROSE_PHRASES = ("prose_phrases.txt",)
CODE_PHRASES = ("code_phrases.txt",)
PHRASES = (*PROSE_PHRASES, *CODE_PHRASES)
"""The tables of data that are looked up."""
_WORD = text_pattern(r"[a-z0-9]+")
_REFUSED = text_pattern(r"\b(?:not|never|n't|refuse to|without|avoid) (?:\w+ )?$")
MOST_PLACES = 3_000
_WINDOW = 700


def phrases_of(tables: tuple[str, ...]) -> tuple[Phrase, ...]:
    return tuple(phrase for table in tables for phrase in read_phrases(table))


def look_up(tables: tuple[str, ...], text: SkillText, collector: FindingCollector) -> None:
    low = text.low
    is_capped = False
    # One pass for the words costs less than a search for each of four hundred beginnings.
    by_word = _by_word(tables, text.kind)
    for beginning, wanted in (one for word in sorted({"", *_WORD.findall(low)} & by_word.keys()) for one in by_word[word]):
        if beginning in low:
            places = _places(low, beginning)
            is_capped = is_capped or len(places) >= MOST_PLACES
            for one in wanted:
                _try(one, places, text, collector)
    if is_capped:
        collector.add("SK902", "too many beginnings of suspicious phrases to check each", file=text.path, line=text.first)


@cache
def _by_word(tables: tuple[str, ...], kind: TextKind) -> dict[str, list[tuple[str, list[Phrase]]]]:
    """Returns each beginning with the phrases of this kind of text that start with it, by a whole word of the beginning."""
    found: dict[str, list[Phrase]] = {}
    for one in phrases_of(tables):
        if kind in one.kinds:
            for beginning in one.beginnings:
                found.setdefault(beginning, []).append(one)
    by_word: dict[str, list[tuple[str, list[Phrase]]]] = {}
    for beginning, wanted in found.items():
        by_word.setdefault(_whole_word(beginning), []).append((beginning, wanted))
    return by_word


def _whole_word(beginning: str) -> str:
    """Returns a word of the beginning that stands there whole; empty if there is none."""
    found = _WORD.search(beginning)
    return found[0] if found and found.end() < len(beginning) else ""


def _places(low: str, beginning: str) -> list[int]:
    """Returns the places where it starts a word."""
    places: list[int] = []
    at = low.find(beginning)
    is_word = beginning[0].isalnum()
    while at >= 0 and len(places) < MOST_PLACES:
        if not (is_word and at and low[at - 1].isalnum()):
            places.append(at)
        at = low.find(beginning, at + len(beginning))
    return places


def _try(one: Phrase, places: list[int], text: SkillText, collector: FindingCollector) -> None:
    after = -1
    expression = one.expression
    for at in places:
        if at < after:
            continue
        found = expression.match(text.low, at, at + _WINDOW)
        if found and not (one.code == "SK404" and _REFUSED.search(text.low, max(0, at - 24), at)):
            after = found.end()
            collector.flag(one.code, one.message, text=text, at=at, end=found.end(), confidence=one.confidence)
