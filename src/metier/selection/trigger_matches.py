"""Explicit matches of a request: a skill's name, its author's triggers, and recent use.

A named skill ranks first, then a whole trigger phrase, then recent use. A name that is one ordinary word ("review") counts
only if it is written as a name: /review, $review, "the review skill".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from metier.spec import Triggers
from metier.values import dataclass, field

from .languages import UNSPACED_RUN
from .match import SelectorOptions
from .segment import MAX_PHRASE_WORDS, PhraseKind, normal_words
from .skill_index import SkillIndex
from .tokenization import term_hash
from .trigger_patterns import TriggerPatternError, compile_pattern

__all__ = ["TriggerMatch", "find_trigger_matches"]

_PATTERN_TEXT = 2_000
"""Characters of a request that are matched against patterns."""
_NAME = r"([^\W_][\w-]*+)(?![/\\]|\.\w)"  # `/tasks/list` and `/tasks.json` are paths
_COMMAND = re.compile(rf"(?:\A\s*|\n\s*|[.!?;]\s+)(?:please\s+)?[/$]{_NAME}", re.IGNORECASE)
"""`/name` or `$name` at the beginning of a sentence. Elsewhere it is a path, a variable, or a report on work done."""
_ALONE = re.compile(r"\s*([^\W_]++(?:-[^\W_]++)+)\s*")
_VERB = re.compile(
    r"(?<!not )(?<!n['’]t )(?<!never )(?<!without )\b(use|using|run|try|apply|invoke|call|load|activate|with|via)\s+",
    re.IGNORECASE,
)
_ITEM = re.compile(rf"(?:(?:the|my|our|your)\s+)?([\"'`/$]*){_NAME}[\"'`]?(\s+skill\b)?", re.IGNORECASE)
_AND = re.compile(r"\s*,\s*(?:(?:and|or|then)\s+)?|\s+(?:and|or|then)\s+", re.IGNORECASE)
_END = re.compile(r"\s*(?:\Z|[.,;:!?)\n])|\s+(?:to|for|on|and|or|then|here|now|please)\b", re.IGNORECASE)
_MAX_ITEMS = 8


@dataclass(slots=True)
class TriggerMatch:
    """The explicit matches of one row."""

    named: bool = False
    doubt: float = 1.0
    """Probability that all triggers are wrong, as if they were independent."""
    whole_phrase: bool = False
    recent: int = 0
    """0, or the place among the skills used earlier in this session, the latest highest; decides a tie."""
    bonus: float = 0.0
    """Log-odds for a verb and for recent use: enough to win a tie, too little to activate a skill."""
    reasons: list[str] = field(default_factory=list)

    @property
    def is_call(self) -> bool:
        """True if the request names the skill or has one of its keywords or patterns: it is wanted, whatever else is."""
        return self.named or self.doubt < 1

    def add_evidence(self, probability: float, reason: str) -> None:
        self.doubt *= 1 - probability
        self.reasons.append(reason)

    def add_bonus(self, odds: float, reason: str) -> None:
        self.bonus += odds
        self.reasons.append(reason)


def find_trigger_matches(
    text: str, library: SkillIndex, triggers_of: Callable[[int], Triggers], options: SelectorOptions, recent_rows: Iterable[int]
) -> dict[int, TriggerMatch]:
    found: dict[int, TriggerMatch] = {}
    for name in _names_in(text):
        for row in _rows(library, name, PhraseKind.NAME):
            match = found.setdefault(row, TriggerMatch())
            if not match.named:
                match.named = True
                match.reasons.append("named in the request")
    if library.has_triggers:
        _add_triggers(text, library, triggers_of, options, found)
    used = list(recent_rows)
    for place, row in enumerate(used, 1):
        match = found.setdefault(row, TriggerMatch())
        match.recent = place
        # Half for the first, all of it for the latest.
        match.add_bonus(options.recent * (1 + place / len(used)) / 2, "used recently")
    return found


def _names_in(text: str) -> set[str]:
    """Returns the names by which a request calls skills. One that only mentions a name, or a path, calls none."""
    names = {hit[1] for hit in _COMMAND.finditer(text)}
    if alone := _ALONE.fullmatch(text):
        names.add(alone[1])
    for verb in _VERB.finditer(text):
        place = verb.end()
        for _ in range(_MAX_ITEMS):
            item = _ITEM.match(text, place)
            if item is None:
                break
            is_marked = "/" in item[1] or "$" in item[1] or bool(item[3])
            # "Use rate-limiting middleware" names no skill, "use rate-limiting for this" does.
            is_whole = "-" in item[2] and verb[1].lower() not in ("with", "via") and bool(_END.match(text, item.end()))
            if is_marked or is_whole:
                names.add(item[2])
            following = _AND.match(text, item.end())
            if following is None:
                break
            place = following.end()
    return {" ".join(normal_words(name)) for name in names}


def _add_triggers(
    text: str,
    library: SkillIndex,
    triggers_of: Callable[[int], Triggers],
    options: SelectorOptions,
    found: dict[int, TriggerMatch],
) -> None:
    for phrase, length in dict.fromkeys(_phrases_in(text)):
        for row in _rows(library, phrase, PhraseKind.KEYWORD):
            match = found.setdefault(row, TriggerMatch())
            match.whole_phrase |= length > 1
            probability = options.phrase if length > 1 else options.keyword
            match.add_evidence(probability, f"{'phrase' if length > 1 else 'keyword'} {phrase!r}")
        for row in _rows(library, phrase, PhraseKind.VERB):
            found.setdefault(row, TriggerMatch()).add_bonus(options.verb, f"verb {phrase!r}")
    for row in library.phrase_rows(0, PhraseKind.PATTERN):
        for pattern in triggers_of(row).patterns:
            if _matches(pattern, text[:_PATTERN_TEXT]):
                found.setdefault(row, TriggerMatch()).add_evidence(options.pattern, f"pattern {pattern!r}")


def _matches(pattern: str, text: str) -> bool:
    try:
        return compile_pattern(pattern).is_found_in(text)
    except TriggerPatternError:
        return False


def _rows(library: SkillIndex, phrase: str, kind: PhraseKind) -> list[int]:
    return library.phrase_rows(term_hash(phrase), kind)


def _phrases_in(text: str) -> Iterator[tuple[str, int]]:
    """Yields every run of up to eight words, with its number of words."""
    parts = normal_words(text)
    for start in range(len(parts)):
        for length in range(1, min(MAX_PHRASE_WORDS, len(parts) - start) + 1):
            yield " ".join(parts[start : start + length]), length
        if not parts[start].isascii():
            yield from _words_inside(parts[start])


def _words_inside(part: str) -> Iterator[tuple[str, int]]:
    """Yields what may be a word within text without spaces, or with particles: each counts as one word."""
    for run in UNSPACED_RUN.findall(part):
        for start in range(len(run)):
            for end in range(start + 2, min(len(run), start + MAX_PHRASE_WORDS) + 1):
                yield run[start:end], 1
