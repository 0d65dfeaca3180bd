"""Fits the small networks: salience of terms, order of candidates, fit and confidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from metier.selection.arrays import Array
from metier.selection.confidence import log_size_excess, rank_features
from metier.selection.ranker import order_scores
from metier.selection.trained_data import FEW_SKILLS, Network
from training.descent import Ensemble, descend, listwise, mean_and_spread
from training.examples import CANDIDATES, TERMS, Example, Wording, judgements

Orders = Callable[[Example], Network]
"""The ordering network for an example's library."""
Rows = tuple[Array, Array, Array]
"""Signals and rank features of single candidates, labels, weights."""

__all__ = [
    "FEW",
    "MANY",
    "NOT_ASKED",
    "Orders",
    "fit_order",
    "fit_salience",
    "fit_threshold",
    "fit_verdict",
    "fitting_rows",
    "orders",
    "right_rows",
    "shifted",
]  # fmt: skip

UNITS = 32
ENSEMBLE_SIZE = 6
MANY = {"all": 1.0, "all-front": 0.3}
FEW = {"own": 1.0, "own-front": 0.3}
"""The settings that each ordering network learns from, with their weights."""
QUOTED = 0.3
"""Weight of a quoted phrase relative to a query, for the order."""
BRIEF = 0.6
"""Weight of a quoted phrase or a fragment of one, for fit and confidence."""
UNRELATED_WEIGHT = {"all": 3.0, "some": 3.0, "own": 3.0, "tiny": 6.0}
"""Weights of the best candidates for an unrelated request. They are high because such requests are few."""
VERDICT_WEIGHT = {"all": 1.0, "some": 1.0, "own": 1.0, "tiny": 1.0, "all-front": 0.5, "own-front": 0.5, "tiny-front": 0.5}
LET_THROUGH_SMALL, LET_THROUGH_LARGE = 0.3, 0.2
"""Shares of near misses that may pass in small libraries and in the largest one."""
NOT_ASKED = ("near-miss", "unrelated")
"""Kinds of request that have no right skill."""


def fit_salience(lists: Sequence[Wording]) -> Network:
    """Fits term weights such that the plain sum of their gains orders the candidates best."""
    useful = [one for one in lists if one.right.any()]
    shape = (len(useful), TERMS, CANDIDATES)
    cues = np.zeros((*shape[:2], useful[0].term_features.shape[1]), dtype=np.float32)
    gains = np.zeros((*shape, useful[0].gains.shape[2]), dtype=np.float32)
    weights = np.zeros(shape[:2], dtype=np.float32)
    wanted, there = np.zeros((len(useful), CANDIDATES), dtype=np.float32), np.zeros((len(useful), CANDIDATES), dtype=bool)
    for place, one in enumerate(useful):
        terms, size = one.gains.shape[:2]
        cues[place, :terms], weights[place, :terms], gains[place, :terms, :size] = one.term_features, one.weights, one.gains
        wanted[place, :size], there[place, :size] = one.right / one.right.sum(), True
    middle, spread = mean_and_spread(cues[weights > 0])
    cues = np.clip((cues - middle) / spread, -4, 4)
    rng = np.random.default_rng(0)
    ensemble = Ensemble.begin(cues.shape[2], 16, ENSEMBLE_SIZE, rng, drop_inputs=0.0, drop_units=0.1)
    ensemble.output[:] = 0
    mix = np.tile(np.array([1.0, 0.2, 0.2], dtype=np.float32), (ENSEMBLE_SIZE, 1))
    scale = np.full((ENSEMBLE_SIZE, 1, 1), 1.5, dtype=np.float32)

    def step(rows: Array, rng: np.random.Generator) -> list[Array]:
        change = ensemble.forward(cues[rows], rng)
        inside = np.abs(change) < 3
        moved = weights[rows] * np.exp(np.clip(change, -3, 3))
        by_kind = np.einsum("vbt,btck->vbck", moved, gains[rows], optimize=True)
        length = np.sqrt((moved * moved).sum(axis=2, keepdims=True) + 1)
        plain = np.einsum("vbck,vk->vbc", by_kind, mix) / length
        _, slope = listwise(plain * np.exp(scale), wanted[rows], there[rows])
        slope = slope * np.exp(scale)
        by_term = np.einsum("vbc,btck,vk->vbt", slope, gains[rows], mix, optimize=True) / length
        by_length = (slope * plain).sum(axis=2, keepdims=True) * moved / (length * length)
        ensemble.backward((by_term - by_length) * moved * inside)
        by_mix = np.einsum("vbc,vbck->vk", slope / length, by_kind)
        return [*ensemble.gradients, by_mix, (slope * plain).sum(axis=(1, 2), keepdims=True)]

    descend(step, [*ensemble.parameters, mix, scale], len(useful), rng, batch=64, epochs=15, rate=1e-2, decay=0.05)
    return ensemble.frozen(middle, spread)


def fit_order(lists: Sequence[Example], counts: Mapping[str, float]) -> Network:
    """Fits the order listwise: the right skills should take the whole softmax of their list."""
    useful = [one for one in lists if one.right.any() and one.setting in counts]
    width = useful[0].values.shape[1]
    values = np.zeros((len(useful), CANDIDATES, width), dtype=np.float32)
    wanted = np.zeros((len(useful), CANDIDATES), dtype=np.float32)
    there = np.zeros((len(useful), CANDIDATES), dtype=bool)
    for place, one in enumerate(useful):
        size = len(one.ids)
        values[place, :size], there[place, :size] = one.values, True
        weight = counts[one.setting] * (QUOTED if one.request.kind == "quoted" else 1)
        wanted[place, :size] = weight * one.right / one.right.sum()
    middle, spread = mean_and_spread(values[there])
    values = np.clip((values - middle) / spread, -4, 4)
    rng = np.random.default_rng(0)
    ensemble = Ensemble.begin(width, UNITS, ENSEMBLE_SIZE, rng, drop_inputs=0.1, drop_units=0.2)

    def step(rows: Array, rng: np.random.Generator) -> list[Array]:
        _, slope = listwise(ensemble.forward(values[rows], rng), wanted[rows], there[rows])
        ensemble.backward(slope)
        return ensemble.gradients

    descend(step, ensemble.parameters, len(useful), rng, batch=48, epochs=15, rate=5e-3, decay=0.1)
    return ensemble.frozen(middle, spread)


def fitting_rows(lists: Sequence[Example], order: Orders) -> Rows:
    """Returns the rows for the fit: right skills at any rank against near misses and candidates of unrelated requests.

    The best wrong candidates have a low weight, because most of them fit as well.
    """
    found: list[tuple[Array, float, float]] = []
    for one, raw, columns in _standings(lists, order):
        best = np.argsort(-raw, kind="stable")[:3]
        scale = _scale(one)
        if one.request.kind == "near-miss":
            found += [(columns[place], 0.0, 2.0 * scale) for place in np.flatnonzero(one.right)]
        elif one.request.kind == "unrelated":
            found += [(columns[place], 0.0, UNRELATED_WEIGHT[one.setting.partition("-")[0]] * scale) for place in best]
        else:
            found += [(columns[place], 1.0, scale) for place in np.flatnonzero(one.right)]
            found += [(columns[place], 0.0, 0.1 * scale) for place in best if not one.right[place]]
    return _columns(found)


def right_rows(lists: Sequence[Example], order: Orders) -> Rows:
    """Returns the rows for the confidence. All judgements weigh the same, so the result is a probability of being right."""
    found = [
        (columns[place], right, _scale(one))
        for one, raw, columns in _standings(lists, order)
        for place, right in judgements(one, raw)
    ]
    return _columns(found)


def _standings(lists: Sequence[Example], order: Orders) -> Iterator[tuple[Example, Array, Array]]:
    for one in lists:
        if len(one.ids):
            raw = order_scores(order(one), one.values, one.strangeness)
            yield one, raw, rank_features(one.values, raw)


def _scale(one: Example) -> float:
    return VERDICT_WEIGHT[one.setting] * (BRIEF if one.request.kind in ("quoted", "fragment") else 1)


def _columns(found: Sequence[tuple[Array, float, float]]) -> Rows:
    rows, labels, weights = (np.array(column, dtype=np.float32) for column in zip(*found, strict=True))
    return rows, labels, weights


def orders(many: Network, few: Network) -> Orders:
    return lambda one: few if one.size <= FEW_SKILLS else many


def fit_verdict(rows: Array, labels: Array, weights: Array) -> Network:
    """Fits a logistic network to single candidates: signals and rank features, label and weight."""
    middle, spread = mean_and_spread(rows)
    values = np.clip((rows - middle) / spread, -4, 4)[:, None]
    rng = np.random.default_rng(0)
    ensemble = Ensemble.begin(rows.shape[1], 16, ENSEMBLE_SIZE, rng, drop_inputs=0.1, drop_units=0.2)

    def step(picked: Array, rng: np.random.Generator) -> list[Array]:
        sure = 1 / (1 + np.exp(-ensemble.forward(values[picked], rng)[..., 0]))
        ensemble.backward((sure - labels[picked]) * weights[picked] / len(picked))
        return ensemble.gradients

    descend(step, ensemble.parameters, len(rows), rng, batch=64, epochs=30, rate=3e-3, decay=0.1)
    return ensemble.frozen(middle, spread)


def fit_threshold(near: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Returns the shift of the fit and its `ease` in large libraries, from pairs of library size and log-odds of near misses.

    At a fit of one half the chosen share of near misses passes, so that one threshold serves libraries of all sizes.
    """
    small = np.quantile([odds for size, odds in near if size <= FEW_SKILLS], 1 - LET_THROUGH_SMALL)
    largest = max(size for size, _ in near)
    large = np.quantile([odds for size, odds in near if size == largest], 1 - LET_THROUGH_LARGE)
    return -float(small), float(small - large) / log_size_excess(largest)


def shifted(network: Network, shift: float) -> Network:
    return replace(network, bias=network.bias + shift)
