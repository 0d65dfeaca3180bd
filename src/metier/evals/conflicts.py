"""Which installed skills compete for the same requests.

Two steps, because the ranker takes milliseconds for a request and words microseconds. First all descriptions are compared as
weighted words, by the words that they share. Then the pairs are put to the test, the most alike first: a request that the one
says it is for goes to the ranker, and the pair is a conflict when the ranker is about as sure of the other. The requests are
the author's own trigger evals where there are some, else the description's sentences.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metier.selection import MatchDecision, SelectableSkill, Selector, split_negative, split_sentences, split_words, word_terms

__all__ = ["ConflictReport", "SkillConflict", "find_conflicts"]

_ALIKE = 0.2
_MOST_ASKED = 1_500
"""Skills whose requests go to the ranker: every one of a thousand, and some ten seconds of ten thousand."""
_MOST_PAIRS = 50_000
_MOST_REQUESTS = 2
_MOST_WORDS = 200
_SHOWN = 6
_TORN = 1.5
"""Log-odds between how sure the ranker is of the one and of the other, up to which it could go either way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillConflict:
    """Two skills that a request cannot tell apart."""

    names: tuple[str, str]
    folders: tuple[str, str]
    likeness: float
    """0 to 1: how alike the descriptions are, rare words counting more."""
    shared: tuple[str, ...]
    """The words that make them alike, the weightiest first."""
    request: str
    """A request of the first that the ranker could give to the second as well."""
    winner: str
    """Who comes first for it."""

    def data(self) -> dict[str, Any]:
        return {
            "skills": list(self.names), "folders": list(self.folders), "likeness": round(self.likeness, 3),
            "shared": list(self.shared), "request": self.request, "winner": self.winner,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictReport:
    conflicts: tuple[SkillConflict, ...]
    """The most alike first."""
    untried: int = 0
    """Pairs that are alike and were not put to the ranker, because there are too many."""


def find_conflicts(
    skills: Sequence[SelectableSkill], selector: Selector, *,
    requests: Callable[[SelectableSkill], Iterable[str]] = lambda _: (), among: Container[str] | None = None,
) -> ConflictReport:  # fmt: skip
    """Who competes. `requests` gives what is known that a skill is for; with `among`, only pairs with one of these ids."""
    said = [_said(skill) for skill in skills]
    weights = _weights(said)
    trial = _Trial(skills, selector, requests)
    pairs, untried = _alike(weights)
    found = []
    for likeness, *pair in pairs:
        if among is not None and not any(skills[at].id in among for at in pair):
            continue
        torn = trial(pair)
        untried += torn is None
        if torn:
            first, second, request, winner = torn
            shared = sorted(weights[first].keys() & weights[second].keys(), key=lambda term: (-weights[first][term], term))
            found.append(
                SkillConflict(
                    names=(skills[first].name, skills[second].name), folders=(skills[first].id, skills[second].id),
                    likeness=likeness, shared=tuple(dict.fromkeys(said[first][term] for term in shared))[:_SHOWN],
                    request=" ".join(request.split()), winner=skills[winner].name,
                )
            )  # fmt: skip
    return ConflictReport(conflicts=tuple(sorted(found, key=lambda one: (-one.likeness, one.names))), untried=untried)


class _Trial:
    """Puts pairs to the ranker, each skill's requests once."""

    def __init__(
        self, skills: Sequence[SelectableSkill], selector: Selector, requests: Callable[[SelectableSkill], Iterable[str]]
    ) -> None:
        self._skills = skills
        self._selector = selector
        self._known = requests
        self._answers: dict[int, list[tuple[str, dict[str, float]]]] = {}

    def __call__(self, pair: Sequence[int]) -> tuple[int, int, str, int] | tuple[()] | None:
        """Whose request it is, the other, the request, and who comes first; empty if they are told apart, None if not tried."""
        for first, second in (pair, pair[::-1]):
            if first not in self._answers:
                if len(self._answers) >= _MOST_ASKED:
                    return None
                self._answers[first] = [(text, _loaded(self._selector, text)) for text in self._requests(first)]
            both = [self._skills[first].id, self._skills[second].id]
            for text, loaded in self._answers[first]:
                if _is_torn(loaded, both):
                    return first, second, text, max(first, second, key=lambda at: loaded[self._skills[at].id])
        return ()

    def _requests(self, at: int) -> list[str]:
        given = list(self._known(self._skills[at]))[:_MOST_REQUESTS]
        return given or split_sentences(split_negative(self._skills[at].description)[0])[:_MOST_REQUESTS]


def _weights(said: Sequence[dict[str, str]]) -> list[dict[str, float]]:
    """For each skill the words that can make it alike, weighted by rarity in this set; squares of all words add up to 1."""
    holders = Counter(term for terms in said for term in terms)
    # A word of one skill makes no pair, and one of nearly all tells none apart.
    most = max(2, len(said) // 4)
    found = []
    for terms in said:
        rarity = {term: math.log(1 + len(said) / holders[term]) for term in terms}
        # Measured against all of its words: two long descriptions that share three words are not alike.
        whole = math.sqrt(sum(weight * weight for weight in rarity.values())) or 1.0
        found.append({term: weight / whole for term, weight in rarity.items() if 1 < holders[term] <= most})
    return found


def _alike(weights: Sequence[dict[str, float]]) -> tuple[list[tuple[float, int, int]], int]:
    """Pairs by cosine, the most alike first, and how many more there are.

    By shared words, so that memory grows with the skills and not with their square.
    """
    postings: defaultdict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
    for at, terms in enumerate(weights):
        for term, weight in terms.items():
            postings[term][0].append(at)
            postings[term][1].append(weight)
    arrays = {term: (np.array(places), np.array(each, dtype=np.float32)) for term, (places, each) in postings.items()}
    likeness = np.zeros(len(weights), dtype=np.float32)
    pairs: list[tuple[float, int, int]] = []
    total = 0
    for first, terms in enumerate(weights):
        likeness[:] = 0
        for term, weight in terms.items():
            places, each = arrays[term]
            likeness[places] += each * weight
        near = np.nonzero(likeness[first + 1 :] >= _ALIKE)[0] + first + 1
        pairs += [(float(likeness[second]), first, second) for second in near.tolist()]
        total += len(near)
        if len(pairs) > 2 * _MOST_PAIRS:
            pairs = sorted(pairs, key=_order)[:_MOST_PAIRS]
    return sorted(pairs, key=_order)[:_MOST_PAIRS], max(0, total - _MOST_PAIRS)


def _order(pair: tuple[float, int, int]) -> tuple[float, int, int]:
    return (-pair[0], *pair[1:])


def _said(skill: SelectableSkill) -> dict[str, str]:
    """Stems of what the skill says it is for, each with the word as written."""
    text = f"{skill.name} {split_negative(skill.description)[0]}"
    found: dict[str, str] = {}
    for word in split_words(text)[:_MOST_WORDS]:
        for term in word_terms(word):
            found.setdefault(term, word.lower())
    return found


def _loaded(selector: Selector, request: str) -> dict[str, float]:
    """Who would be loaded for it, and how well each fits."""
    picked = [match for match in selector.select(request).selected if match.decision is MatchDecision.ACTIVATE]
    return {match.id: match.fit for match in picked}


def _is_torn(loaded: dict[str, float], both: Sequence[str]) -> bool:
    if not all(one in loaded for one in both):
        return False
    first, second = (math.log(fit / (1 - fit)) for fit in (min(0.999, loaded[one]) for one in both))
    return abs(first - second) <= _TORN
