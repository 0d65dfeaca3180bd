"""Which installed skills compete for the same requests.

Two steps, because comparing a thousand skills with each other by the ranker would take minutes. First all descriptions are
compared at once, as weighted words: one product of matrices. Then the most alike pairs are put to the test: a request
that the one says it is for goes to the ranker, and the pair is a conflict when the ranker is about as sure of the other.
The requests are the author's own trigger evals where there are some, else the description's sentences.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metier.selection import Decision, Selector, Skill
from metier.selection.document import split_negative
from metier.selection.text import sentences, terms_of, words

__all__ = ["Conflict", "conflicts"]

_ALIKE = 0.2
_MOST_TRIED = 120
_MOST_REQUESTS = 2
_MOST_WORDS = 200
_SHOWN = 6
_TORN = 1.5
"""Log-odds between how sure the ranker is of the one and of the other, up to which it could go either way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
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


def conflicts(
    skills: Sequence[Skill], selector: Selector, *, requests: Callable[[Skill], Iterable[str]] = lambda _: ()
) -> tuple[Conflict, ...]:
    """The pairs, the most alike first. `requests` gives what is known that a skill is for."""
    answers: dict[int, list[tuple[str, dict[str, float]]]] = {}

    def asked(at: int) -> list[tuple[str, dict[str, float]]]:
        if at not in answers:
            answers[at] = [(text, _loaded(selector, text)) for text in _requests(skills[at], requests)]
        return answers[at]

    found = []
    for pair in _alike(skills):
        for first, second in ((pair.first, pair.second), (pair.second, pair.first)):
            both = [skills[first].id, skills[second].id]
            tried = next(((text, loaded) for text, loaded in asked(first) if _is_torn(loaded, both)), None)
            if tried:
                winner = max(both, key=tried[1].__getitem__)
                found.append(_conflict(replace(pair, first=first, second=second), skills, tried[0], winner))
                break
    return tuple(sorted(found, key=lambda one: (-one.likeness, one.names)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    first: int
    second: int
    likeness: float
    shared: tuple[str, ...]


def _conflict(pair: _Pair, skills: Sequence[Skill], request: str, winner: str) -> Conflict:
    both = skills[pair.first], skills[pair.second]
    return Conflict(
        names=(both[0].name, both[1].name), folders=(both[0].id, both[1].id), likeness=pair.likeness, shared=pair.shared,
        request=" ".join(request.split()), winner=next(skill.name for skill in both if skill.id == winner),
    )  # fmt: skip


def _alike(skills: Sequence[Skill]) -> list[_Pair]:
    """The most alike pairs, by cosine of their words weighted by rarity in this set."""
    said = [_said(skill) for skill in skills]
    holders = Counter(term for terms in said for term in terms)
    # A word of one skill makes no pair, and one of nearly all tells none apart.
    kept = {term: at for at, term in enumerate(sorted(t for t, n in holders.items() if 1 < n <= max(2, len(said) // 4)))}
    matrix = np.zeros((len(said), len(kept)), dtype=np.float32)
    whole = np.zeros(len(said), dtype=np.float32)
    for row, terms in enumerate(said):
        for term in terms:
            weight = math.log(1 + len(said) / holders[term])
            whole[row] += weight * weight
            if term in kept:
                matrix[row, kept[term]] = weight
    # Measured against all of its words: two long descriptions that share three words are not alike.
    matrix /= np.sqrt(np.maximum(whole, 1e-9))[:, None]
    likeness = np.triu(matrix @ matrix.T, k=1)
    places = np.argwhere(likeness >= _ALIKE)
    order = np.argsort(-likeness[places[:, 0], places[:, 1]], kind="stable")[:_MOST_TRIED]
    terms_in_order = list(kept)
    pairs = []
    for first, second in places[order].tolist():
        weights = matrix[first] * matrix[second]
        best = np.argsort(-weights, kind="stable")[:_SHOWN]
        shared = tuple(dict.fromkeys(said[first][terms_in_order[at]] for at in best.tolist() if weights[at] > 0))
        pairs.append(_Pair(first=first, second=second, likeness=float(likeness[first, second]), shared=shared))
    return pairs


def _said(skill: Skill) -> dict[str, str]:
    """Stems of what the skill says it is for, each with the word as written."""
    text = f"{skill.name} {split_negative(skill.description)[0]}"
    found: dict[str, str] = {}
    for word in words(text)[:_MOST_WORDS]:
        for term in terms_of(word):
            found.setdefault(term, word.lower())
    return found


def _requests(skill: Skill, known: Callable[[Skill], Iterable[str]]) -> list[str]:
    given = list(known(skill))[:_MOST_REQUESTS]
    return given or sentences(split_negative(skill.description)[0])[:_MOST_REQUESTS]


def _loaded(selector: Selector, request: str) -> dict[str, float]:
    """Who would be loaded for it, and how sure the ranker is of each."""
    picked = [match for match in selector.select(request).selected if match.decision is Decision.ACTIVATE]
    return {match.id: match.confidence for match in picked}


def _is_torn(loaded: dict[str, float], both: Sequence[str]) -> bool:
    if not all(one in loaded for one in both):
        return False
    first, second = (math.log(sure / (1 - sure)) for sure in (min(0.999, loaded[one]) for one in both))
    return abs(first - second) <= _TORN
