"""Skills of a set that a model could not tell apart by their descriptions.

Two descriptions are compared as sets of words, by the share that they have in common. Comparing all with all is quadratic, so
only pairs that share one of their rarest words are compared: with the words in order of rarity, two sets that overlap enough
must meet in the first few. Words that very many skills of the set share are boilerplate and distinguish nothing. The rest must
agree as well, so that fifty skills made from one template for fifty products do not count as overlaps.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from metier.spec.codes import problem
from metier.spec.report import Problem

__all__ = ["find_overlaps", "overlap_problems"]

_ALIKE = 0.6
_MOST_PARTNERS = 50
_MOST_WORDS = 400
_BOILERPLATE = 0.02
_FEWEST_FOR_BOILERPLATE = 8
_FEWEST_TO_COMPARE = 4
_WORD = re.compile(r"[^\W_]{2,40}")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\u0e00-\u0e7f]{2,}")
_COMMON = frozenset({
    "the", "and", "for", "with", "this", "that", "when", "use", "used", "using", "user", "users", "from", "into", "any", "all",
    "are", "can", "how", "not", "or", "to", "of", "in", "on", "if", "it", "is", "as", "by", "an", "at", "be", "skill", "skills",
    "help", "helps", "asks", "wants", "need", "needs",
})  # fmt: skip


def find_overlaps(skills: Iterable[tuple[str, str]], *, at_least: float = _ALIKE) -> tuple[tuple[str, str, float], ...]:
    """Returns pairs of names with nearly the same description and the share of words in common, the most alike first."""
    named = [(name, _words(description)) for name, description in skills]
    counts = Counter(word for _, words in named for word in words)
    boilerplate = {word for word, count in counts.items() if count > max(_FEWEST_FOR_BOILERPLATE, len(named) * _BOILERPLATE)}
    ordered = [sorted(words, key=lambda word: (counts[word], word)) for _, words in named]
    found: set[tuple[str, str, float]] = set()
    for left, right, score in _alike(ordered, at_least):
        (first, words), (second, others) = sorted((named[left], named[right]), key=lambda skill: skill[0])
        # Of two skills with one name, one is hidden, so a model sees no choice.
        if first != second and (words == others or _is_alike(words - boilerplate, others - boilerplate, at_least)):
            found.add((first, second, round(score, 3)))
    return tuple(sorted(found, key=lambda pair: (-pair[2], pair)))


def overlap_problems(skills: Iterable[tuple[str, str]]) -> dict[str, list[Problem]]:
    """Returns SK217 for both skills of each pair, by name. Takes pairs of name and description."""
    found: dict[str, list[Problem]] = {}
    for first, second, share in find_overlaps(skills):
        for one, other in ((first, second), (second, first)):
            message = f"shares {share:.0%} of its description's words with {other.rpartition('/')[2]!r}"
            found.setdefault(one, []).append(problem("SK217", message, hint="say in each what it is not for, or make them one"))
    return found


def _is_alike(words: frozenset[str], others: frozenset[str], at_least: float) -> bool:
    union = len(words | others)
    return union >= _FEWEST_TO_COMPARE and len(words & others) / union >= at_least


def _words(description: str) -> frozenset[str]:
    text = description.lower()[:8_000]
    words = [word for word in _WORD.findall(_UNSPACED.sub(" ", text)) if word not in _COMMON]
    # Scripts without spaces have no words; pairs of adjacent characters serve as words.
    words += [run[at : at + 2] for run in _UNSPACED.findall(text) for at in range(len(run) - 1)]
    return frozenset(words[:_MOST_WORDS])


def _alike(ordered: Sequence[Sequence[str]], at_least: float) -> Iterator[tuple[int, int, float]]:
    sets = [frozenset(words) for words in ordered]
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for at, words in enumerate(ordered):
        rare = words[: len(words) - math.ceil(at_least * len(words)) + 1]
        # Among near-copies every pair would match; a few partners for each are enough.
        near = {other for word in rare for other in holders[word][-_MOST_PARTNERS:]}
        for other in sorted(near, reverse=True)[: _MOST_PARTNERS * 2]:
            shared = len(sets[at] & sets[other])
            score = shared / (len(sets[at]) + len(sets[other]) - shared)
            if score >= at_least:
                yield other, at, score
        for word in rare:
            holders[word].append(at)
