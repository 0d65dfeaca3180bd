"""The fit and the confidence of a candidate, by two small networks beside the one that orders the candidates.

The order compares candidates. The fit is the probability that a candidate suits the request at all: two similar skills may
both fit, and a near miss does not. The confidence is the probability that the candidate is the intended one, so similar
skills share it. Both read the signals and the candidate's rank among the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .arrays import Array, product
from .signals import SIGNALS
from .trained_data import Network

__all__ = ["RANK_FEATURES", "confidence", "fit", "log_size_excess", "rank_features", "without_siblings"]

RANK_FEATURES = ("raw", "lead", "share", "place")
"""Columns after the signals: raw score, lead over the best other candidate, softmax, 1 / rank."""

_FRONT, _COVERAGE = SIGNALS.index("front_coverage"), SIGNALS.index("coverage")
_BODY_ONLY, _NO_WORDS = -0.4, -3.0
"""Maximum log-odds (probabilities 0.4 and 0.05) if the request matches the body only, or no word at all."""
_SIBLING = 0.65
"""Cosine of two descriptions from which the skills are for the same work."""
_LARGE = 1_000
"""Skills of a large library, where the right skill has more rivals and near misses are found less often."""


def rank_features(values: Array, raw: Array) -> Array:
    """Returns the columns that both networks read, one row per candidate."""
    if not len(raw):
        return np.zeros((0, len(SIGNALS) + len(RANK_FEATURES)), dtype=np.float32)
    best = raw.max()
    second = np.partition(raw, -2)[-2] if len(raw) > 1 else best - 5
    lead = raw - np.where(raw >= best, second, best)
    share = np.exp(raw - best)
    order = np.empty(len(raw))
    order[np.argsort(-raw, kind="stable")] = np.arange(1, len(raw) + 1)
    columns = np.stack([raw, np.clip(lead, -5, 5), share / share.sum(), 1 / order], axis=1)
    return np.concatenate([values, columns], axis=1).astype(np.float32)


def without_siblings(columns: Array, raw: Array, places: Sequence[int], front: Array) -> Array:
    """Returns the columns of these candidates as if none had a sibling: a skill for the same work takes no fit from it.

    `columns` and `raw` are those of all candidates, `front` the unit vectors of their names and descriptions.
    """
    chosen = np.asarray(places, dtype=np.int64)
    found = columns.take(chosen, axis=0)
    if not len(chosen):
        return found
    mine = raw.take(chosen)
    rivals = np.where(product(front.take(chosen, axis=0), front.T) >= _SIBLING, -np.inf, raw)
    rivals[np.arange(len(chosen)), chosen] = -np.inf
    best = rivals.max(axis=1)
    found[:, -3] = np.clip(mine - np.where(np.isfinite(best), best, mine - 5), -5, 5)
    found[:, -2] = 1 / (1 + np.exp(rivals - mine[:, None]).sum(axis=1))
    found[:, -1] = 1 / (1 + (rivals > mine[:, None]).sum(axis=1))
    return found


def fit(columns: Array, network: Network, live_count: int, size_bonus: float) -> Array:
    """Returns the log-odds that each candidate fits; `size_bonus` is added for each power of ten of a large library.

    A candidate that matches in its body only is suggested at most; one that matches no word is not even suggested.
    """
    most = np.where(columns[:, _FRONT] > 0, np.inf, np.where(columns[:, _COVERAGE] > 0, _BODY_ONLY, _NO_WORDS))
    return np.minimum(network.scores(columns) + network.bias + size_bonus * log_size_excess(live_count), most)


def log_size_excess(live_count: int) -> float:
    """Returns log10 of the library size in thousands of skills; 0 for a smaller library."""
    return math.log10(max(live_count, _LARGE) / _LARGE)


def confidence(columns: Array, network: Network) -> Array:
    """Returns the log-odds that each candidate is the intended one."""
    return np.minimum(network.scores(columns) + network.bias, np.where(columns[:, _COVERAGE] > 0, np.inf, _NO_WORDS))
