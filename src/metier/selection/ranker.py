"""Ranks the skills for a request: find candidates by words, compute their signals, order them, score fit and confidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from metier.values import dataclass, replace

from .arrays import Array
from .candidate_texts import read_texts
from .confidence import confidence, fit, rank_features, without_siblings
from .match import ScoreShare
from .query import Query
from .salience import adjust_weights
from .signals import SIGNALS, Evidence, anchor, compute_signals, find_candidates, term_weights
from .similarity import NEAREST, TOPICAL
from .skill_index import SkillIndex
from .trained_data import Network, TrainedData

__all__ = ["GROUPS", "RankedCandidates", "add_similarity", "collect_evidence", "order_scores", "rank", "uncovered_share"]

_NAMED_GROUPS = {
    "name": ("name_coverage", "name_share", "length_name"),
    "description": (
        "front", "front_coverage", "purpose_share", "best_sentence", "sentence_share", "words_front", "rarest_front",
        "length_purpose",
    ),
    "clauses": ("clause", "clause_share", "clause_fit"),
    "phrases": ("phrase", "together"),
    "not for": ("negative",),
    "headings": ("heads",),
    "body": ("back", "length_body"),
    "all words": (
        "score", "score_ratio", "flat", "coverage", "rarest", "words_all", "gap", "best_score", "plain", "plain_ratio",
    ),
    "one sentence": ("part",),
    "meaning": (*NEAREST, *TOPICAL),
}  # fmt: skip
GROUPS = {
    group: tuple(name for base in names for name in (base, f"{base}_z") if name in SIGNALS)
    for group, names in _NAMED_GROUPS.items()
}
"""Groups of signals with names for users, for `--explain`."""

_COLUMNS = [[SIGNALS.index(name) for name in names] for names in GROUPS.values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedCandidates:
    evidence: Evidence
    network: Network
    raw: Array
    odds: Array
    """Log-odds of the score."""
    live_count: int
    """Number of skills in the library."""
    trained: TrainedData
    bonus: Array | None = None
    """Log-odds that a sentence model added to the score."""

    def fit_and_confidence(self, places: Sequence[int]) -> tuple[Array, Array]:
        """Returns the log-odds that each of these fits, and that each is the intended one."""
        networks, front = self.trained.networks, self.evidence.front
        columns = rank_features(self.evidence.values, self.raw)
        alone = without_siblings(columns, self.raw, places, front)
        odds = fit(alone, networks["fit"], self.live_count, self.trained.size_bonus)
        return odds, confidence(columns.take(places, axis=0), networks["sure"])

    def shares(self, place: int) -> tuple[ScoreShare, ...]:
        """Returns how much of a candidate's score is lost if a group of signals is set to its mean."""
        changed = np.repeat(self.evidence.values[[place]], len(GROUPS), axis=0)
        for line, columns in enumerate(_COLUMNS):
            changed[line, columns] = self.network.middle[columns]
        lost = (self.raw[place] - order_scores(self.network, changed, self.evidence.strangeness)).round(3).tolist()
        found = tuple(ScoreShare(group, value) for group, value in zip(GROUPS, lost, strict=True))
        return found if self.bonus is None else (*found, ScoreShare("sentence model", round(float(self.bonus[place]), 3)))


def order_scores(network: Network, values: Array, strangeness: float) -> Array:
    """Returns the scores that order the candidates."""
    return network.scores(values) + anchor(values, strangeness)


def rank(
    query: Query, library: SkillIndex, trained: TrainedData, *, limit: int, also: Iterable[int] = (), further: int = 0
) -> RankedCandidates:
    """Scores the best `limit` rows by words and the rows in `also`, and finds `further` rows without scoring them."""
    evidence = collect_evidence(query, library, trained, limit=limit, also=also, further=further)
    network = trained.order(library.live_count)
    # Rounded, because equal rows may differ in the last bit, which would decide a tie by chance.
    raw = order_scores(network, evidence.values, evidence.strangeness).round(4)
    return RankedCandidates(
        evidence=evidence, network=network, raw=raw, odds=raw + network.bias, live_count=library.live_count, trained=trained
    )


def add_similarity(ranked: RankedCandidates, similarity: Array, weight: float) -> RankedCandidates:
    """Orders again with the similarity that a sentence model found; fit and confidence stay the same."""
    bonus = (weight * uncovered_share(ranked.evidence.values) * similarity).round(4)
    return replace(ranked, odds=ranked.odds + bonus, bonus=bonus)


def uncovered_share(values: Array) -> float:
    """Returns the share of the request that no candidate covers in its name and description."""
    return 1 - float(values[:, SIGNALS.index("front_coverage")].max(initial=0))


def collect_evidence(
    query: Query, library: SkillIndex, trained: TrainedData, *, limit: int, also: Iterable[int] = (), further: int = 0
) -> Evidence:
    postings = library.postings(query)
    weights = term_weights(query, postings, library.live_count, trained)
    if library.live_count <= limit and len(query):
        # A small library is scored whole, because the right skill may share no word with the request.
        texts, behind = library.whole(trained), np.zeros(0, dtype=np.int64)
    else:
        found = find_candidates(postings, weights, len(library.alive), limit + further)
        rows, behind = found[:limit], found[limit:]
        if extra := sorted({*also} - {*rows.tolist()}):
            rows = np.concatenate([rows, np.array(extra, dtype=np.int64)])
            behind = behind[~np.isin(behind, extra)]
        texts = read_texts(library, rows, trained)
    # Some kernels read past a short row and raise the flag for "invalid"; all numbers are finite.
    with np.errstate(invalid="ignore"):
        return compute_signals(
            query, library, postings, (weights, adjust_weights(query, weights, trained)), texts, trained, behind
        )
