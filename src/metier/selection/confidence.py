"""How sure we may be that a candidate is right: a second small network, trained on near misses.

Ordering asks "which of these"; activating asks "any of these at all". The second needs to know how the candidate
stands to the others, and what its description says it is not for.
"""

from __future__ import annotations

import numpy as np

from .container import Array
from .network import Network
from .signals import SIGNALS

__all__ = ["STANDING", "confidence", "standing"]

STANDING = ("raw", "lead", "share", "place")
"""Columns beside the signals: the order's own score, its lead over the best other, softmax, 1 / place."""

_FRONT, _COVERAGE = SIGNALS.index("front_coverage"), SIGNALS.index("coverage")
_BODY_ALONE, _UNSPOKEN = -1.9, -3.0
"""Log-odds of 0.13 and 0.05."""


def standing(values: Array, raw: Array) -> Array:
    """The columns that the confidence network reads, by candidate."""
    if not len(raw):
        return np.zeros((0, len(SIGNALS) + len(STANDING)), dtype=np.float32)
    best = raw.max()
    second = np.partition(raw, -2)[-2] if len(raw) > 1 else best - 5
    lead = raw - np.where(raw >= best, second, best)
    share = np.exp(raw - best)
    order = np.empty(len(raw))
    order[np.argsort(-raw, kind="stable")] = np.arange(1, len(raw) + 1)
    columns = np.stack([raw, np.clip(lead, -5, 5), share / share.sum(), 1 / order], axis=1)
    return np.concatenate([values, columns], axis=1).astype(np.float32)


def confidence(values: Array, raw: Array, network: Network) -> Array:
    """Log-odds that each candidate is right.

    Words that stand in a body alone may suggest a skill, whatever else speaks for it; no word at all may not even that.
    """
    most = np.where(values[:, _FRONT] > 0, np.inf, np.where(values[:, _COVERAGE] > 0, _BODY_ALONE, _UNSPOKEN))
    return np.minimum(network.scores(standing(values, raw)) + network.bias, most)
