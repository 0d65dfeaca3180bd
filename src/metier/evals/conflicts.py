"""Conflicts: installed skills that compete for the same requests.

Two steps, because the ranker takes milliseconds for a request and comparing words microseconds. First all descriptions are
compared by their weighted words. Then the pairs are tested, the most similar first: requests of one skill go to the ranker, and
the pair is a conflict if the ranker is about as sure of the other skill. The requests are the author's trigger evals, or the
sentences of the description if there are none.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

import numpy as np

from metier.selection import SelectableSkill, Selector, split_negative, split_sentences, split_words, word_terms
from metier.values import dataclass

__all__ = ["ConflictReport", "SkillConflict", "find_conflicts"]

_SIMILAR = 0.2
_MOST_ASKED = 1_500
"""The limit of skills whose requests go to the ranker: all of a thousand, and about ten seconds for ten thousand."""
_MOST_PAIRS = 50_000
_MOST_REQUESTS = 2
_MOST_WORDS = 200
_SHOWN = 6
_MAX_LOG_ODDS = 1.5
"""The largest difference in log-odds at which the ranker cannot decide between two skills."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillConflict:
    """Two skills that compete for a request."""

    names: tuple[str, str]
    folders: tuple[str, str]
    similarity: float
    """From 0 to 1; rare words count more."""
    shared: tuple[str, ...]
    """The shared words, the most important first."""
    request: str
    """A request of the first skill that the ranker may give to the second."""
    winner: str
    """The skill that the ranker prefers for it."""

    def data(self) -> dict[str, Any]:
        return {
            "skills": list(self.names), "folders": list(self.folders), "similarity": round(self.similarity, 3),
            "shared": list(self.shared), "request": self.request, "winner": self.winner,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictReport:
    conflicts: tuple[SkillConflict, ...]
    """The most similar first."""
    untested: int = 0
    """Similar pairs that were not tested, because there are too many."""


def find_conflicts(
    skills: Sequence[SelectableSkill], selector: Selector, *,
    requests: Callable[[SelectableSkill], Iterable[str]] = lambda _: (), among: Container[str] | None = None,
) -> ConflictReport:  # fmt: skip
    """`requests` returns known requests of a skill; with `among`, only pairs with one of these ids are considered."""
    described = [_terms(skill) for skill in skills]
    weights = _weights(described)
    test = _PairTest(skills, selector, requests)
    pairs, untested = _similar_pairs(weights)
    found = []
    for similarity, *pair in pairs:
        if among is not None and not any(skills[at].id in among for at in pair):
            continue
        undecided = test(pair)
        untested += undecided is None
        if undecided:
            first, second, request, winner = undecided
            shared = sorted(weights[first].keys() & weights[second].keys(), key=lambda term: (-weights[first][term], term))
            found.append(
                SkillConflict(
                    names=(skills[first].name, skills[second].name), folders=(skills[first].id, skills[second].id),
                    similarity=similarity, shared=tuple(dict.fromkeys(described[first][term] for term in shared))[:_SHOWN],
                    request=" ".join(request.split()), winner=skills[winner].name,
                )
            )  # fmt: skip
    return ConflictReport(conflicts=tuple(sorted(found, key=lambda one: (-one.similarity, one.names))), untested=untested)


class _PairTest:
    """Tests pairs with the ranker. Each skill's requests are ranked once."""

    def __init__(
        self, skills: Sequence[SelectableSkill], selector: Selector, requests: Callable[[SelectableSkill], Iterable[str]]
    ) -> None:
        self._skills = skills
        self._selector = selector
        self._known = requests
        self._answers: dict[int, list[tuple[str, dict[str, float]]]] = {}

    def __call__(self, pair: Sequence[int]) -> tuple[int, int, str, int] | tuple[()] | None:
        """Returns the skill of the request, the other one, the request and the preferred skill.

        () if there is no conflict, None if the pair was not tested.
        """
        for first, second in (pair, pair[::-1]):
            if first not in self._answers:
                if len(self._answers) >= _MOST_ASKED:
                    return None
                self._answers[first] = [(text, _loaded(self._selector, text)) for text in self._requests(first)]
            both = [self._skills[first].id, self._skills[second].id]
            for text, loaded in self._answers[first]:
                if _is_undecided(loaded, both):
                    return first, second, text, max(first, second, key=lambda at: loaded[self._skills[at].id])
        return ()

    def _requests(self, at: int) -> list[str]:
        given = list(self._known(self._skills[at]))[:_MOST_REQUESTS]
        return given or split_sentences(split_negative(self._skills[at].description)[0])[:_MOST_REQUESTS]


def _weights(described: Sequence[dict[str, str]]) -> list[dict[str, float]]:
    """The words of each skill that other skills share, weighted by rarity; the squares of all its words add up to 1."""
    holders = Counter(term for terms in described for term in terms)
    # A word of one skill makes no pair, and a word of nearly all skills distinguishes none.
    most = max(2, len(described) // 4)
    found = []
    for terms in described:
        rarity = {term: math.log(1 + len(described) / holders[term]) for term in terms}
        # Normalised over all words: two long descriptions that share three words are not similar.
        whole = math.sqrt(sum(weight * weight for weight in rarity.values())) or 1.0
        found.append({term: weight / whole for term, weight in rarity.items() if 1 < holders[term] <= most})
    return found


def _similar_pairs(weights: Sequence[dict[str, float]]) -> tuple[list[tuple[float, int, int]], int]:
    """Pairs by cosine similarity, the most similar first, and the number of pairs beyond the limit.

    Computed by shared words, so that memory grows with the skills and not with their square.
    """
    postings: defaultdict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
    for at, terms in enumerate(weights):
        for term, weight in terms.items():
            postings[term][0].append(at)
            postings[term][1].append(weight)
    arrays = {term: (np.array(places), np.array(each, dtype=np.float32)) for term, (places, each) in postings.items()}
    similarity = np.zeros(len(weights), dtype=np.float32)
    pairs: list[tuple[float, int, int]] = []
    total = 0
    for first, terms in enumerate(weights):
        similarity[:] = 0
        for term, weight in terms.items():
            places, each = arrays[term]
            similarity[places] += each * weight
        near = np.nonzero(similarity[first + 1 :] >= _SIMILAR)[0] + first + 1
        pairs += [(float(similarity[second]), first, second) for second in near.tolist()]
        total += len(near)
        if len(pairs) > 2 * _MOST_PAIRS:
            pairs = sorted(pairs, key=_order)[:_MOST_PAIRS]
    return sorted(pairs, key=_order)[:_MOST_PAIRS], max(0, total - _MOST_PAIRS)


def _order(pair: tuple[float, int, int]) -> tuple[float, int, int]:
    return (-pair[0], *pair[1:])


def _terms(skill: SelectableSkill) -> dict[str, str]:
    """The stems of the description, each with the word as written."""
    text = f"{skill.name} {split_negative(skill.description)[0]}"
    found: dict[str, str] = {}
    for word in split_words(text)[:_MOST_WORDS]:
        for term in word_terms(word):
            found.setdefault(term, word.lower())
    return found


def _loaded(selector: Selector, request: str) -> dict[str, float]:
    """The skills that fit a request well enough to be activated for it, with their fit."""
    picked = selector.select(request, selector.options.max_skills).selected
    return {match.id: match.fit for match in picked if match.fit >= selector.options.activate}


def _is_undecided(loaded: dict[str, float], both: Sequence[str]) -> bool:
    if not all(one in loaded for one in both):
        return False
    first, second = (math.log(fit / (1 - fit)) for fit in (min(0.999, loaded[one]) for one in both))
    return abs(first - second) <= _MAX_LOG_ODDS
