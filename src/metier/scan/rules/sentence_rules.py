"""Sentence rules: instructions against the user, found by the kinds of words that meet in one sentence.

A phrase (see `phrases`) knows one wording. A sentence rule knows what must come together, in any wording and order: words for
changing, words for money, words for keeping quiet. The rules are read against sentences of at most a few hundred characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import islice

from metier.scan.collector import FindingCollector
from metier.scan.data.hosts import HostReputation, reputation_of, urls_in
from metier.scan.expressions import text_pattern
from metier.scan.patterns import SentenceRule, read_sentence_rules
from metier.scan.readers.sentences import LONGEST_SENTENCE, Sentence
from metier.scan.text import SkillText

__all__ = ["judge_sentences"]

# A sentence that refers to the one before it, and says what must stay unseen or how it should look.
_REFERS = text_pattern(
    r"[ `]{0,8}(?:do not|don't|never|nobody|no one|leave |keep |make |present |use (?:that|this)|it |this |they |a call"
    r"|there is|without |say nothing|omit |follow |obey |execute |if (?:the reply|asked)|(?:state|write|describe) it)"
)
_COMPLETES = text_pattern(
    r"\b(?:not|don't|never|without|avoid|refrain|nobody|no one|keep|leave|unnoticed|as if)\b|looks? (?:right|genuine|normal)"
    r"|as (?:an? )?(?:\w+ )?fact\b|is right\b|use that|(?:follow|obey|execute) (?:them|these|it)\b"
)


# The words before a deed that say that it must not, or need not, be done.
_DENIED = text_pattern(
    r"\b(?:must not|mustn't|should not|shouldn't|cannot|can't|never"
    r"|not be able to|prevents?|blocks?|there is no)\b[^.;:,]{0,30}$"
)
_ABOUT_SILENCE = frozenset(("SK402", "SK407", "SK409"))


@cache
def _by_stem() -> tuple[dict[str, tuple[SentenceRule, ...]], tuple[SentenceRule, ...], tuple[SentenceRule, ...]]:
    """Returns the rules by the first letters of a word that they need, the rules without such a word, and those for pairs."""
    by_stem: dict[str, list[SentenceRule]] = {}
    for rule in read_sentence_rules():
        for stem in rule.stems[0] if rule.stems else ():
            by_stem.setdefault(stem, []).append(rule)
    rest = tuple(rule for rule in read_sentence_rules() if not rule.stems)
    spanning = tuple(rule for rule in read_sentence_rules() if rule.spans_sentences)
    return {stem: tuple(rules) for stem, rules in by_stem.items()}, rest, spanning


def judge_sentences(text: SkillText, sentences: Sequence[Sentence], collector: FindingCollector) -> None:
    by_stem, rest, _ = _by_stem()
    before: Sentence | None = None
    for sentence in sentences:
        # A dictionary of first letters costs far less than a search for the words of each rule.
        stems = sentence.stems
        wanted = dict.fromkeys(rest)
        for stem in stems & by_stem.keys():
            wanted.update(dict.fromkeys(by_stem[stem]))
        for rule in wanted:
            if any(map(stems.isdisjoint, rule.stems)):
                continue
            if _matches(rule, sentence.in_context, text, sentence.start, collector):
                _flag(rule, text, sentence.start, sentence.end, collector)
        if before is not None and _REFERS.match(sentence.low) and _COMPLETES.search(sentence.low[: LONGEST_SENTENCE // 2]):
            _judge_pair(before, sentence, text, collector)
        before = sentence


def _judge_pair(first: Sentence, second: Sentence, text: SkillText, collector: FindingCollector) -> None:
    """Reads two sentences of one paragraph as one: the action, and that it must stay unseen."""
    if second.start - first.end > 1:
        return
    both = f"{first.in_context}.{second.low}"
    for rule in _by_stem()[2]:
        if _matches(rule, both, text, first.start, collector):
            alone = any(_matches(rule, one.in_context, text, one.start, collector) for one in (first, second))
            if not alone:
                _flag(rule, text, first.start, second.end, collector)


def _flag(rule: SentenceRule, text: SkillText, start: int, end: int, collector: FindingCollector) -> None:
    # A sentence starts with its first word, and not at the end of the table row before it.
    start += len(text.text[start:end]) - len(text.text[start:end].lstrip())
    collector.flag(rule.code, rule.message, text=text, at=start, end=end, confidence=rule.confidence)


def _matches(rule: SentenceRule, sentence: str, text: SkillText, start: int, collector: FindingCollector) -> bool:
    for need in rule.needs:
        found = need.search(sentence)
        if found is None:
            return False
        if (
            need is rule.needs[0]
            and rule.code not in _ABOUT_SILENCE
            and _DENIED.search(sentence, max(0, found.start() - 48), found.start())
        ):
            return False
    if rule.unless is not None and rule.unless.search(sentence):
        return False
    return not rule.unknown_host or _names_unknown_host(text.text[start : start + len(sentence) + 200], collector)


def _names_unknown_host(words: str, collector: FindingCollector) -> bool:
    return any(
        reputation_of(url, collector.purpose) in (HostReputation.UNKNOWN, HostReputation.ANONYMOUS, HostReputation.SHARED)
        and not url.is_placeholder
        and not collector.purpose.mentions((url.label,))
        for url in islice(urls_in(words), 3)
    )
