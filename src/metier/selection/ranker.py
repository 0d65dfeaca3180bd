"""From a request to ordered candidates: find by words, look closely, order, say how sure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .confidence import confidence
from .container import Array
from .library import Library
from .network import Network
from .query import Query
from .salience import salient
from .signals import SIGNALS, Evidence, candidates, signals, term_weights
from .trained import Trained

__all__ = ["GROUPS", "Ranked", "gather", "rank", "with_meaning"]

GROUPS = {
    "name": ("name_coverage", "name_share", "length_name"),
    "description": (
        "front", "front_coverage", "purpose_share", "best_sentence", "sentence_share", "words_front", "rarest_front",
        "length_purpose",
    ),
    "phrases": ("phrase",),
    "not for": ("negative",),
    "headings": ("heads",),
    "body": ("back", "length_body"),
    "all words": (
        "score", "score_z", "score_ratio", "flat", "flat_z", "coverage", "rarest", "words_all", "gap", "best_score",
        "plain", "plain_z", "plain_ratio",
    ),
    "meaning": tuple(name for name in SIGNALS if name.startswith(("vector", "soft"))),
}  # fmt: skip
"""The signals as a person would name them, for `--explain`."""

_COLUMNS = [[SIGNALS.index(name) for name in names] for names in GROUPS.values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    evidence: Evidence
    network: Network
    values: Array
    """What the network reads: the signals, and two columns more with a sentence model."""
    raw: Array
    odds: Array
    """Log-odds of the score."""
    sure: Array
    """Log-odds of the confidence."""

    def shares(self, places: Sequence[int]) -> list[dict[str, float]]:
        """How much of a candidate's score goes when a group of signals is set to what is usual."""
        network = self.network
        changed = np.repeat(self.values[list(places)][:, None], len(GROUPS), axis=1)
        for line, columns in enumerate(_COLUMNS):
            changed[:, line, columns] = network.middle[columns]
        scores = network.scores(changed.reshape(-1, changed.shape[-1])).reshape(len(places), len(GROUPS))
        lost = (self.raw[list(places)][:, None] - scores).round(3).tolist()
        return [dict(zip(GROUPS, line, strict=True)) for line in lost]


def rank(query: Query, library: Library, trained: Trained, *, limit: int, also: Iterable[int] = ()) -> Ranked:
    """The best `limit` rows by words, and the rows in `also` whatever their words, scored."""
    evidence = gather(query, library, trained, limit=limit, also=also)
    network = trained.order(library.living)
    # Rounded, because equal rows may differ in the last bit, and then a tie would be decided by chance.
    raw = network.scores(evidence.values).round(4)
    sure = confidence(evidence.values, raw, trained.networks["sure"])
    odds = raw + network.bias
    return Ranked(evidence=evidence, network=network, values=evidence.values, raw=raw, odds=odds, sure=sure)


def with_meaning(ranked: Ranked, columns: Array, network: Network) -> Ranked:
    """Ordered anew with a sentence model's view; the confidence stays."""
    values = np.concatenate([ranked.evidence.values, columns], axis=1)
    raw = network.scores(values).round(4)
    return replace(ranked, network=network, values=values, raw=raw, odds=raw + network.bias)


def gather(query: Query, library: Library, trained: Trained, *, limit: int, also: Iterable[int] = ()) -> Evidence:
    postings = library.postings(query)
    weights = term_weights(query, postings, library.living, trained)
    rows = candidates(postings, weights, len(library.alive), limit)
    if library.living <= limit and len(query):
        # A library this small is looked at whole: the right skill may share no word with the request.
        also = {*also, *np.flatnonzero(library.alive).tolist()}
    extra = np.setdiff1d(np.array(sorted(also), dtype=np.int64), rows)
    rows = np.concatenate([rows, extra]).astype(np.int64)
    return signals(query, library, postings, (weights, salient(query, weights, trained)), rows, trained)
