"""From a request to ordered candidates: find by words, look closely, order, say how sure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .confidence import confidence, fit, rank_features
from .container import Array
from .match import ScoreShare
from .network import Network
from .query import Query
from .salience import adjust_weights
from .signals import SIGNALS, Evidence, compute_signals, find_candidates, term_weights
from .similarity import NEAREST, TOPICAL
from .skill_index import SkillIndex
from .trained_data import TrainedData

__all__ = ["GROUPS", "RankedCandidates", "add_similarity", "collect_evidence", "rank", "uncovered_share"]

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
"""The signals as a person would name them, for `--explain`."""

_COLUMNS = [[SIGNALS.index(name) for name in names] for names in GROUPS.values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedCandidates:
    evidence: Evidence
    network: Network
    raw: Array
    odds: Array
    """Log-odds of the score."""
    live_count: int
    """Skills in the library."""
    trained: TrainedData
    bonus: Array | None = None
    """What a sentence model added to the score."""

    def verdicts(self, places: Sequence[int]) -> tuple[Array, Array]:
        """Log-odds that each fits, and that each is the one that was meant; few are ever asked for."""
        columns = rank_features(self.evidence.values, self.raw).take(places, axis=0)
        networks = self.trained.networks
        return fit(columns, networks["fit"], self.live_count, self.trained.ease), confidence(columns, networks["sure"])

    def shares(self, place: int) -> tuple[ScoreShare, ...]:
        """How much of a candidate's score goes when a group of signals is set to what is usual."""
        changed = np.repeat(self.evidence.values[[place]], len(GROUPS), axis=0)
        for line, columns in enumerate(_COLUMNS):
            changed[line, columns] = self.network.middle[columns]
        lost = (self.raw[place] - self.network.scores(changed)).round(3).tolist()
        found = tuple(ScoreShare(group, value) for group, value in zip(GROUPS, lost, strict=True))
        return found if self.bonus is None else (*found, ScoreShare("sentence model", round(float(self.bonus[place]), 3)))


def rank(
    query: Query, library: SkillIndex, trained: TrainedData, *, limit: int, also: Iterable[int] = (), further: int = 0
) -> RankedCandidates:
    """The best `limit` rows by words, and the rows in `also` whatever their words, scored; `further` more only found."""
    evidence = collect_evidence(query, library, trained, limit=limit, also=also, further=further)
    network = trained.order(library.live_count)
    # Rounded, because equal rows may differ in the last bit, and then a tie would be decided by chance.
    raw = network.scores(evidence.values).round(4)
    return RankedCandidates(
        evidence=evidence, network=network, raw=raw, odds=raw + network.bias, live_count=library.live_count, trained=trained
    )


def add_similarity(ranked: RankedCandidates, nearness: Array, weight: float) -> RankedCandidates:
    """Ordered anew with a sentence model's view; fit and confidence stay."""
    bonus = (weight * uncovered_share(ranked.evidence.values) * nearness).round(4)
    return replace(ranked, odds=ranked.odds + bonus, bonus=bonus)


def uncovered_share(values: Array) -> float:
    """How much of the request no candidate's name and description hold: so much is left for the meaning to say."""
    return 1 - float(values[:, SIGNALS.index("front_coverage")].max(initial=0))


def collect_evidence(
    query: Query, library: SkillIndex, trained: TrainedData, *, limit: int, also: Iterable[int] = (), further: int = 0
) -> Evidence:
    postings = library.postings(query)
    weights = term_weights(query, postings, library.live_count, trained)
    found = find_candidates(postings, weights, len(library.alive), limit + further)
    rows, behind = found[:limit], found[limit:]
    if library.live_count <= limit and len(query):
        # A library this small is looked at whole: the right skill may share no word with the request.
        also = {*also, *np.flatnonzero(library.alive).tolist()}
    if extra := sorted({*also} - {*rows.tolist()}):
        rows = np.concatenate([rows, np.array(extra, dtype=np.int64)])
        behind = behind[~np.isin(behind, extra)]
    # Kernels of linear algebra that read past a short row raise the flag for "invalid" now and then; all numbers are finite.
    with np.errstate(invalid="ignore"):
        return compute_signals(
            query, library, postings, (weights, adjust_weights(query, weights, trained)), rows, trained, behind
        )
