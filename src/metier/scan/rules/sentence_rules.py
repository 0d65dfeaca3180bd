"""Sentence rules: instructions against the user, found by the kinds of words that meet in one sentence.

A phrase (see `phrases`) knows one wording. A sentence rule knows what must come together, in any wording and order: words for
changing, words for money, words for keeping quiet. The rules are read against sentences of at most a few hundred characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from metier.lazy import lazy_pattern
from metier.scan.collector import FindingCollector
from metier.scan.data.hosts import HostReputation, reputation_of, urls_in
from metier.scan.data.injection_sentences import INJECTION_SENTENCES
from metier.scan.data.machine_sentences import MACHINE_SENTENCES
from metier.scan.data.secret_sentences import SECRET_SENTENCES
from metier.scan.data.sentence_parts import UNTOLD, UNWRITTEN
from metier.scan.data.user_work_sentences import USER_WORK_SENTENCES
from metier.scan.patterns import SentenceRule
from metier.scan.readers.sentences import LONGEST_SENTENCE, Sentence
from metier.scan.text import SkillText

__all__ = ["SENTENCE_RULES", "judge_sentences"]

SENTENCE_RULES = (*INJECTION_SENTENCES, *USER_WORK_SENTENCES, *MACHINE_SENTENCES, *SECRET_SENTENCES)
# One search for the first needs of many rules costs far less than a search for each.
_GROUPS = tuple(
    (lazy_pattern(rf"(?<![\w-])(?:{'|'.join(rule.first_need for rule in rules)})"), rules)
    for rules in (INJECTION_SENTENCES, USER_WORK_SENTENCES, MACHINE_SENTENCES, SECRET_SENTENCES)
)
_SPANNING = tuple(rule for rule in SENTENCE_RULES if rule.spans_sentences)
# A sentence that refers to the one before it, and says what must stay unseen or how it should look.
_REFERS = lazy_pattern(
    r"[ `]{0,8}(?:do not|don't|never|nobody|no one|leave |keep |make |present |use (?:that|this)|it |this |they |a call"
    r"|there is|without |say nothing|omit |follow |obey |execute |if (?:the reply|asked)|(?:state|write|describe) it)"
)
_COMPLETES = lazy_pattern(
    rf"{UNTOLD}|{UNWRITTEN}|look as if|looks? (?:right|genuine|normal)|as (?:an? )?(?:\w+ )?fact\b|not necessary|is right\b"
    r"|use that|do not show|not show|(?:follow|obey|execute) (?:them|these|it)\b"
)


def judge_sentences(text: SkillText, sentences: Sequence[Sentence], collector: FindingCollector) -> None:
    before: Sentence | None = None
    for sentence in sentences:
        for first_needs, rules in _GROUPS:
            if not first_needs.search(sentence.in_context):
                continue
            for rule in rules:
                # Inlined: this search is what a scan does most.
                if rule.needs[0].search(sentence.in_context) and _matches(
                    rule, sentence.in_context, text, sentence.start, collector
                ):
                    _flag(rule, text, sentence.start, sentence.end, collector)
        if before is not None and _REFERS.match(sentence.low) and _COMPLETES.search(sentence.low[: LONGEST_SENTENCE // 2]):
            _judge_pair(before, sentence, text, collector)
        before = sentence


def _judge_pair(first: Sentence, second: Sentence, text: SkillText, collector: FindingCollector) -> None:
    """Reads two sentences of one paragraph as one: the action, and that it must stay unseen."""
    if second.start - first.end > 1:
        return
    both = f"{first.in_context}.{second.low}"
    for rule in _SPANNING:
        if rule.needs[0].search(both) and _matches(rule, both, text, first.start, collector):
            alone = any(
                rule.needs[0].search(one.in_context) and _matches(rule, one.in_context, text, one.start, collector)
                for one in (first, second)
            )
            if not alone:
                _flag(rule, text, first.start, second.end, collector)


def _flag(rule: SentenceRule, text: SkillText, start: int, end: int, collector: FindingCollector) -> None:
    # A sentence starts with its first word, and not at the end of the table row before it.
    start += len(text.text[start:end]) - len(text.text[start:end].lstrip())
    collector.flag(rule.code, rule.message, text=text, at=start, end=end, confidence=rule.confidence)


def _matches(rule: SentenceRule, sentence: str, text: SkillText, start: int, collector: FindingCollector) -> bool:
    """Checks all but the first need, which the caller has searched for."""
    if not all(need.search(sentence) for need in rule.needs[1:]):
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
