"""Does a candidate fit, and is it the right one: two small networks beside the one that orders.

Ordering asks "which of these". Activating asks "does it fit at all": two siblings may both fit, and a near miss does not.
Confidence asks "is this the one that was meant", and is honest about siblings. All need to know how the candidate stands to
the others, and what its description says it is not for.
"""

from __future__ import annotations

import math

import numpy as np

from .container import Array
from .network import Network
from .signals import SIGNALS

__all__ = ["RANK_FEATURES", "confidence", "fit", "log_size_excess", "rank_features"]

RANK_FEATURES = ("raw", "lead", "share", "place")
"""Columns beside the signals: the order's own score, its lead over the best other, softmax, 1 / place."""

_FRONT, _COVERAGE = SIGNALS.index("front_coverage"), SIGNALS.index("coverage")
_BODY_ALONE, _UNSPOKEN = -0.4, -3.0
"""Log-odds of 0.4 and 0.05."""
_MANY = 1_000
"""Skills from which a library counts as large, where the right skill has more rivals and fewer near misses are found."""


def rank_features(values: Array, raw: Array) -> Array:
    """The columns that both networks read, by candidate."""
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


def fit(columns: Array, network: Network, live_count: int, ease: float) -> Array:
    """Log-odds that each candidate fits; `ease` is added for each tenfold of a large library.

    Words that stand in a body alone may suggest a skill, whatever else speaks for it; no word at all may not even that.
    """
    most = np.where(columns[:, _FRONT] > 0, np.inf, np.where(columns[:, _COVERAGE] > 0, _BODY_ALONE, _UNSPOKEN))
    return np.minimum(network.scores(columns) + network.bias + ease * log_size_excess(live_count), most)


def log_size_excess(live_count: int) -> float:
    """Of a library beyond its first thousand skills."""
    return math.log10(max(live_count, _MANY) / _MANY)


def confidence(columns: Array, network: Network) -> Array:
    """Log-odds that each candidate is right."""
    return np.minimum(network.scores(columns) + network.bias, np.where(columns[:, _COVERAGE] > 0, np.inf, _UNSPOKEN))
