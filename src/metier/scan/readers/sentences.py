"""Prose as sentences: where each starts, its words, and the words with the line that leads to it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from metier.lazy import lazy_pattern
from metier.scan.text import SkillText
from metier.values import dataclass

__all__ = ["LONGEST_SENTENCE", "Sentence", "read_sentences"]

LONGEST_SENTENCE = 500
_MOST = 5_000
_ENDS = lazy_pattern(r"[.!?](?=\s)|\n[ \t]*\n|\n[ \t]*(?:[-*+>]|\d{1,2}[.)])[ \t]|\n#|\|")
_STEM = lazy_pattern(r"(?<![\w-])[a-z]{2,4}")
_ITEM = lazy_pattern(r"[ \t]{0,8}(?:[-*+]|\d{1,2}[.)])[ \t]")
_FORBIDS = lazy_pattern(
    r"\b(?:never|not|don'?ts?|avoid|forbidden|prohibited|anti-?patterns?|mistakes?|pitfalls?|wrong|bad|refuse|out of scope"
    r"|limits|without asking|ask (?:first|before)|red flags|warnings?|requires? (?:approval|confirmation))\b|❌|🚫|⛔"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    start: int
    """Its place in the text."""
    low: str
    """Its words, lowercase."""
    in_context: str
    """The same behind the line that leads to it.

    The items of a list complete the sentence before the list; under a heading such as "Never" they say the opposite.
    """

    stems: frozenset[str]
    """The first two, three and four letters of its words, by which rules are chosen."""

    @property
    def end(self) -> int:
        return self.start + len(self.low)


def read_sentences(text: SkillText) -> list[Sentence]:
    """Returns the first sentences of a prose text."""
    leads, read = _leads(text), []
    for start, low in islice(_sentences(text), _MOST):
        lead = leads.get(text.text.rfind("\n", 0, start) + 1, "")
        words = f"{lead} {low}" if lead else low
        starts = _STEM.findall(words)
        read.append(Sentence(start, low, words, frozenset([stem[:end] for stem in starts for end in (2, 3, 4)])))
    return read


def _leads(text: SkillText) -> dict[int, str]:
    """Returns the line that leads to each list item, by the place where the item's line starts."""
    leads: dict[int, str] = {}
    at, lead, is_forbidden = 0, "", False
    for line in text.text.split("\n"):
        low = text.low[at : at + len(line)].strip()
        if _ITEM.match(line):
            leads[at] = "never" if is_forbidden else lead
        elif low.startswith("#"):
            lead, is_forbidden = "", _FORBIDS.search(low[:80]) is not None
        elif low.endswith(":"):
            lead, is_forbidden = low[-200:], _FORBIDS.search(low[-80:]) is not None
        elif low and not line.startswith((" ", "\t")):
            lead, is_forbidden = "", False
        at += len(line) + 1
    return leads


def _sentences(text: SkillText) -> Iterator[tuple[int, str]]:
    """Yields the start and the lowercase words of each sentence, table cell or list item."""
    start = 0
    for found in _ENDS.finditer(text.text):
        if found.start() - start > 16:
            yield from _pieces(text.low, start, found.start())
        start = found.end()
    yield from _pieces(text.low, start, len(text.text))


def _pieces(low: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    for at in range(start, end, LONGEST_SENTENCE):
        yield at, low[at : min(end, at + LONGEST_SENTENCE)]
