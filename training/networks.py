"""Fits the small networks: what matters in a request, the order of candidates, and how sure we may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from metier.selection.confidence import standing
from metier.selection.container import Array
from metier.selection.network import Network
from training.descent import Votes, descend, listwise, usual
from training.examples import CANDIDATES, TERMS, Example, Wording

Orders = Callable[[Example], Network]
"""The ordering network for an example's library."""

__all__ = [
    "FEW", "MANY", "NOT_ASKED", "Orders", "calibrated", "confidence_rows", "fit_confidence", "fit_order", "fit_salience",
    "orders", "platt",
]  # fmt: skip

UNITS = 32
VOTES = 6
MANY = {"all": 1.0, "all-front": 0.3}
FEW = {"own": 1.0, "own-front": 0.3}
"""What each ordering network learns from, and how much it counts."""
QUOTED = 0.3
"""How much a quoted phrase counts beside a dev query, for the order."""
BRIEF = 0.6
"""How much it, or a fragment of it, counts for the confidence."""
STRANGE = {"all": 4.0, "own": 4.0, "tiny": 8.0}
"""How much the best candidates for an unrelated request count: there are few such requests to learn from."""
SURE_WEIGHT = {"all": 1.0, "own": 1.0, "tiny": 0.5, "all-front": 0.5, "own-front": 0.5, "tiny-front": 0.5}
NOT_ASKED = ("near-miss", "unrelated")
"""Kinds of request that have no right skill."""


def fit_salience(lists: Sequence[Wording]) -> Network:
    """Terms weighed so that the plain sum of their gains orders the candidates best."""
    useful = [one for one in lists if one.right.any()]
    shape = (len(useful), TERMS, CANDIDATES)
    cues = np.zeros((*shape[:2], useful[0].cues.shape[1]), dtype=np.float32)
    gains = np.zeros((*shape, useful[0].gains.shape[2]), dtype=np.float32)
    weights = np.zeros(shape[:2], dtype=np.float32)
    wanted, there = np.zeros((len(useful), CANDIDATES), dtype=np.float32), np.zeros((len(useful), CANDIDATES), dtype=bool)
    for place, one in enumerate(useful):
        terms, size = one.gains.shape[:2]
        cues[place, :terms], weights[place, :terms], gains[place, :terms, :size] = one.cues, one.weights, one.gains
        wanted[place, :size], there[place, :size] = one.right / one.right.sum(), True
    middle, spread = usual(cues[weights > 0])
    cues = np.clip((cues - middle) / spread, -4, 4)
    rng = np.random.default_rng(0)
    votes = Votes.begin(cues.shape[2], 16, VOTES, rng, drop_inputs=0.0, drop_units=0.1)
    votes.output[:] = 0
    mix = np.tile(np.array([1.0, 0.2, 0.2], dtype=np.float32), (VOTES, 1))
    scale = np.full((VOTES, 1, 1), 1.5, dtype=np.float32)

    def step(rows: Array, rng: np.random.Generator) -> list[Array]:
        change = votes.forward(cues[rows], rng)
        inside = np.abs(change) < 3
        moved = weights[rows] * np.exp(np.clip(change, -3, 3))
        by_kind = np.einsum("vbt,btck->vbck", moved, gains[rows], optimize=True)
        length = np.sqrt((moved * moved).sum(axis=2, keepdims=True) + 1)
        plain = np.einsum("vbck,vk->vbc", by_kind, mix) / length
        _, slope = listwise(plain * np.exp(scale), wanted[rows], there[rows])
        slope = slope * np.exp(scale)
        by_term = np.einsum("vbc,btck,vk->vbt", slope, gains[rows], mix, optimize=True) / length
        by_length = (slope * plain).sum(axis=2, keepdims=True) * moved / (length * length)
        votes.backward((by_term - by_length) * moved * inside)
        by_mix = np.einsum("vbc,vbck->vk", slope / length, by_kind)
        return [*votes.gradients, by_mix, (slope * plain).sum(axis=(1, 2), keepdims=True)]

    descend(step, [*votes.parameters, mix, scale], len(useful), rng, batch=64, epochs=15, rate=1e-2, decay=0.05)
    return votes.frozen(middle, spread)


def fit_order(lists: Sequence[Example], counts: Mapping[str, float]) -> Network:
    """Listwise: the right skills should take the whole softmax of their list."""
    useful = [one for one in lists if one.right.any() and one.setting in counts]
    width = useful[0].values.shape[1]
    values = np.zeros((len(useful), CANDIDATES, width), dtype=np.float32)
    wanted = np.zeros((len(useful), CANDIDATES), dtype=np.float32)
    there = np.zeros((len(useful), CANDIDATES), dtype=bool)
    for place, one in enumerate(useful):
        size = len(one.ids)
        values[place, :size], there[place, :size] = one.values, True
        weight = counts[one.setting] * (QUOTED if one.asked.kind == "quoted" else 1)
        wanted[place, :size] = weight * one.right / one.right.sum()
    middle, spread = usual(values[there])
    values = np.clip((values - middle) / spread, -4, 4)
    rng = np.random.default_rng(0)
    votes = Votes.begin(width, UNITS, VOTES, rng, drop_inputs=0.1, drop_units=0.2)

    def step(rows: Array, rng: np.random.Generator) -> list[Array]:
        _, slope = listwise(votes.forward(values[rows], rng), wanted[rows], there[rows])
        votes.backward(slope)
        return votes.gradients

    descend(step, votes.parameters, len(useful), rng, batch=48, epochs=15, rate=5e-3, decay=0.1)
    return votes.frozen(middle, spread)


def confidence_rows(lists: Sequence[Example], order: Orders) -> tuple[Array, Array, Array]:
    """Signals, label and weight of single candidates: right ones, near misses, and the best wrong ones."""
    rows, labels, weights = [], [], []
    for one in lists:
        if not len(one.ids):
            continue
        raw = order(one).scores(one.values)
        columns = standing(one.values, raw)
        named = one.right
        best_first = np.argsort(-raw, kind="stable")[:3]
        scale = SURE_WEIGHT[one.setting] * (BRIEF if one.asked.kind in ("quoted", "fragment") else 1)
        if one.asked.kind == "near-miss":
            picked = [(place, 0.0, 2.0 * scale) for place in np.flatnonzero(named)]
        elif one.asked.kind == "unrelated":
            picked = [(place, 0.0, STRANGE[one.setting.partition("-")[0]] * scale) for place in best_first]
        else:
            picked = [(place, 1.0, scale) for place in np.flatnonzero(named)]
            picked += [(place, 0.0, 0.1 * scale) for place in best_first if not named[place]]
        for place, label, weight in picked:
            rows.append(columns[place])
            labels.append(label)
            weights.append(weight)
    return np.array(rows, dtype=np.float32), np.array(labels, dtype=np.float32), np.array(weights, dtype=np.float32)


def orders(many: Network, few: Network) -> Orders:
    return lambda one: many if one.setting.startswith("all") else few


def fit_confidence(rows: Array, labels: Array, weights: Array) -> Network:
    middle, spread = usual(rows)
    values = np.clip((rows - middle) / spread, -4, 4)[:, None]
    rng = np.random.default_rng(0)
    votes = Votes.begin(rows.shape[1], 8, VOTES, rng, drop_inputs=0.1, drop_units=0.2)

    def step(picked: Array, rng: np.random.Generator) -> list[Array]:
        sure = 1 / (1 + np.exp(-votes.forward(values[picked], rng)[..., 0]))
        votes.backward((sure - labels[picked]) * weights[picked] / len(picked))
        return votes.gradients

    descend(step, votes.parameters, len(rows), rng, batch=64, epochs=30, rate=3e-3, decay=0.3)
    return votes.frozen(middle, spread)


def platt(logits: Array, labels: Array) -> tuple[float, float]:
    """Slope and shift that turn logits into the odds counted; by Newton's method."""
    columns = np.stack([logits, np.ones(len(logits))], axis=1).astype(np.float64)
    found = np.array([1.0, 0.0])
    for _ in range(25):
        sure = 1 / (1 + np.exp(-columns @ found))
        slope = columns.T @ (labels - sure)
        curve = (columns * (sure * (1 - sure))[:, None]).T @ columns + 1e-6 * np.eye(2)
        found += np.linalg.solve(curve, slope)
    return float(found[0]), float(found[1])


def calibrated(network: Network, slope: float, shift: float) -> Network:
    return replace(network, output=(network.output * slope).astype(np.float32), bias=network.bias * slope + shift)
