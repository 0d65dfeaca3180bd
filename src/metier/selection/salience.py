"""Weights of the words of a request, by a small network over rarity, position and spelling.

Rarity alone overrates dates, names of people and the background of a long task. Words that skills use in their names and
descriptions count for more, and so do the words of the last sentence, which usually says what to do.
"""

from __future__ import annotations

import numpy as np

from .arrays import Array
from .query import Query
from .trained_data import TrainedData

__all__ = ["TERM_FEATURES", "adjust_weights", "term_features"]

TERM_FEATURES = (
    "rarity", "rarity_squared", "topical", "naming", "importance", "known", "place", "first_sentence", "last_sentence",
    "count", "digits", "capital", "capitals", "length", "rank", "share", "ratio",
)  # fmt: skip
_MAX_CHANGE = 3.0
"""Largest change of a weight, up or down, as a logarithm."""


def term_features(query: Query, weights: Array, trained: TrainedData) -> Array:
    """Returns the features of each term of the request; `weights` are those by rarity alone."""
    size = len(query)
    place = trained.places(query.hashes)
    known = place >= 0
    rarity = weights / query.weights / 8
    rank = np.empty(size)
    rank[np.argsort(-weights, kind="stable")] = np.arange(size)
    found = np.empty((len(TERM_FEATURES), size), dtype=np.float32)
    found[0] = rarity
    found[1] = rarity * rarity
    for row, learnt in enumerate((trained.topical, trained.naming, trained.strength), 2):
        found[row] = learnt.take(place) * known
    found[5] = known
    found[6] = np.arange(size) / max(1, size)
    found[7:13] = query.spelling.T
    found[13] = np.log1p(size) / 5
    found[14] = rank / 16
    found[15] = 8 * weights / max(1e-3, float(weights.sum()))
    found[16] = weights / max(1e-3, float(weights.max(initial=0)))
    return found.T


def adjust_weights(query: Query, weights: Array, trained: TrainedData) -> Array:
    """Returns the weights moved between the terms; their sum stays the same."""
    network = trained.networks.get("salience")
    if network is None or not len(query):
        return weights
    moved = weights * np.exp(np.clip(network.scores(term_features(query, weights, trained)), -_MAX_CHANGE, _MAX_CHANGE))
    return np.asarray(moved * (weights.sum() / moved.sum()), dtype=np.float32)
