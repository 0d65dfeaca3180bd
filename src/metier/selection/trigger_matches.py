"""Skills that the request calls for in so many words: by name, by a trigger of their author, by recent use.

The order: a named skill comes first, then a whole trigger phrase, then what was used lately. A name of
one ordinary word ("review") counts as named only when it is written as a name: /review, $review, "the review skill".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .index_document import Triggers
from .phrases import PhraseKind, normal_words, phrases_in
from .skill_index import SkillIndex
from .tokenization import term_hash
from .trigger_patterns import TriggerPatternError, compile_pattern
from .weights import SelectorOptions

__all__ = ["TriggerMatch", "find_trigger_matches"]

_PATTERN_TEXT = 2_000
"""Characters of a request that patterns see."""
_COMMAND = re.compile(r"(?<![\w/$.:])[/$]([^\W_][\w-]*)")
# From the beginning of a word only, or one long word would be tried from each of its letters.
_HYPHENED = re.compile(r"(?<![^\W_])[^\W_]++(?:-[^\W_]++)+")
_AS_A_SKILL = re.compile(r"(?:\b(?:the|use|using|run|with|skill)\s+)[\"'`]?([\w-]+)[\"'`]?\s+skill\b", re.IGNORECASE)
_QUOTED_SKILL = re.compile(r"\bskill\s+[\"'`]?([\w-]+)[\"'`]?", re.IGNORECASE)


@dataclass(slots=True)
class TriggerMatch:
    """Why one row is called for."""

    named: bool = False
    doubt: float = 1.0
    """What remains after each trigger has spoken, as independent witnesses."""
    whole_phrase: bool = False
    bonus: float = 0.0
    """Log-odds for a verb and for recent use: enough to win a tie, not enough to call a skill that nothing else speaks for."""
    reasons: list[str] = field(default_factory=list)

    def witness(self, sure: float, reason: str) -> None:
        self.doubt *= 1 - sure
        self.reasons.append(reason)

    def help(self, odds: float, reason: str) -> None:
        self.bonus += odds
        self.reasons.append(reason)


def find_trigger_matches(
    text: str, library: SkillIndex, triggers_of: Callable[[int], Triggers], weights: SelectorOptions, recent_rows: Iterable[int]
) -> dict[int, TriggerMatch]:
    found: dict[int, TriggerMatch] = {}
    for name in _names_said(text):
        for row in _rows(library, name, PhraseKind.NAME):
            call = found.setdefault(row, TriggerMatch())
            if not call.named:
                call.named = True
                call.reasons.append("named in the request")
    if library.has_triggers:
        _triggered(text, library, triggers_of, weights, found)
    for row in recent_rows:
        found.setdefault(row, TriggerMatch()).help(weights.recent, "used recently")
    return found


def _names_said(text: str) -> set[str]:
    said = {match[1] for form in (_COMMAND, _AS_A_SKILL, _QUOTED_SKILL) for match in form.finditer(text)}
    said |= {match[0] for match in _HYPHENED.finditer(text)}
    return {" ".join(normal_words(name)) for name in said}


def _triggered(
    text: str,
    library: SkillIndex,
    triggers_of: Callable[[int], Triggers],
    weights: SelectorOptions,
    found: dict[int, TriggerMatch],
) -> None:
    for phrase, length in dict.fromkeys(phrases_in(text)):
        for row in _rows(library, phrase, PhraseKind.KEYWORD):
            call = found.setdefault(row, TriggerMatch())
            call.whole_phrase |= length > 1
            sure = weights.phrase if length > 1 else weights.keyword
            call.witness(sure, f"{'phrase' if length > 1 else 'keyword'} {phrase!r}")
        for row in _rows(library, phrase, PhraseKind.VERB):
            found.setdefault(row, TriggerMatch()).help(weights.verb, f"verb {phrase!r}")
    for row in library.phrase_rows(0, PhraseKind.PATTERN):
        for pattern in triggers_of(row).patterns:
            if _matches(pattern, text[:_PATTERN_TEXT]):
                found.setdefault(row, TriggerMatch()).witness(weights.pattern, f"pattern {pattern!r}")


def _matches(pattern: str, text: str) -> bool:
    try:
        return compile_pattern(pattern).found_in(text)
    except TriggerPatternError:
        return False


def _rows(library: SkillIndex, phrase: str, kind: PhraseKind) -> list[int]:
    return library.phrase_rows(term_hash(phrase), kind)
