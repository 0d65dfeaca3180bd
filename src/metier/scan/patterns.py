"""Patterns that the rules are made of: phrases and sentence rules.

The scan has hundreds of regular expressions, compiled on first use (`lazy_pattern`). Compiling them all takes longer than
reading most skills, and an ordinary skill needs few of them.

A phrase starts with one of a few literal beginnings. In its expression a space means one to eight spaces (a line break is
one), ` ?` up to eight, and `~` a gap inside a sentence of up to eighty characters (`\\~` is the character).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from metier.lazy import lazy_pattern
from metier.values import dataclass

from .scale import Confidence
from .text import TextKind

__all__ = ["Phrase", "SentenceRule", "phrase", "sentence_rule", "words"]


def words(text: str) -> frozenset[str]:
    """Returns the words of a text as a set."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity: rows are cache keys, and hashing their text is slow
class Phrase:
    code: str
    message: str
    beginnings: tuple[str, ...]
    spelled: str
    confidence: Confidence | None
    kinds: frozenset[TextKind]

    @property
    def expression(self) -> re.Pattern[str]:
        return _compile_phrase(self.spelled)


_ALL_KINDS = frozenset(TextKind)


def phrase(
    code: str,
    message: str,
    beginnings: str,
    rest: str,
    confidence: Confidence | None = None,
    kinds: Iterable[TextKind] = _ALL_KINDS,
) -> Phrase:
    """Builds a phrase. `beginnings` are separated by `|`; the expression is matched from a beginning on, and includes it."""
    return Phrase(code, message, tuple(beginnings.split("|")), rest, confidence, frozenset(kinds))


_NOTATION = re.compile(r"\\.|\[\^?\]?[^\]]*\]| \?| |~")
_MEANINGS = {" ": " {1,8}", " ?": " {0,8}", "~": "[^.!?;]{0,80}?", r"\~": "~"}


@cache
def _compile_phrase(spelled: str) -> re.Pattern[str]:
    return re.compile(_NOTATION.sub(lambda found: _MEANINGS.get(found[0], found[0]), spelled))


@dataclass(frozen=True, slots=True)
class SentenceRule:
    """Kinds of words that must meet in one sentence, in any order."""

    code: str
    message: str
    needs: tuple[re.Pattern[str], ...]
    """The rarest first."""
    first_need: str
    """The text of the first need, for an expression that searches for the first needs of many rules at once."""
    unless: re.Pattern[str] | None
    confidence: Confidence
    unknown_host: bool = False
    """The sentence must also name a host that the skill is not about."""
    spans_sentences: bool = False
    """A second sentence may complete it: "Raise the totals. Do not mention it." """


def sentence_rule(
    code: str,
    message: str,
    confidence: Confidence,
    *needs: str,
    unless: str = "",
    unknown_host: bool = False,
    spans_sentences: bool = False,
) -> SentenceRule:
    patterns = tuple(lazy_pattern(rf"(?<![\w-])(?:{need})") for need in needs)
    exception = lazy_pattern(unless) if unless else None
    return SentenceRule(code, message, patterns, needs[0], exception, confidence, unknown_host, spans_sentences)
