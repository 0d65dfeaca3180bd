"""The training scripts: slopes against finite differences, and what must not leak."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from training.descent import Votes, listwise
from training.examples import folds_by_source
from training.labels import Labelled, Plain
from training.networks import platt
from training.quoted import quoted_requests
from training.vectors import Bag, Static, losses

Array = np.ndarray


def nudged(part: Array, place: tuple[int, ...], loss: Callable[[], float], step: float = 1e-3) -> float:
    """The slope by taking a step to either side."""
    before = part[place]
    part[place] = before + step
    above = loss()
    part[place] = before - step
    below = loss()
    part[place] = before
    return (above - below) / (2 * step)


def doubled(votes: Votes) -> Votes:
    hidden, bias, output = (part.astype(np.float64) for part in votes.parameters)
    return Votes(hidden, bias, output)


def test_a_network_knows_its_slope() -> None:
    rng = np.random.default_rng(1)
    votes = doubled(Votes.begin(4, 3, 2, rng, drop_inputs=0, drop_units=0))
    values = rng.standard_normal((5, 6, 4))
    wanted = np.zeros((5, 6))
    wanted[np.arange(5), rng.integers(0, 4, 5)] = 0.7
    there = np.ones((5, 6), dtype=bool)
    there[:, 5] = False

    def loss() -> float:
        return listwise(votes.forward(values), wanted, there)[0]

    _, slope = listwise(votes.forward(values), wanted, there)
    votes.backward(slope)
    for part, gradient in zip(votes.parameters, votes.gradients, strict=True):
        place = tuple(int(rng.integers(size)) for size in part.shape)
        assert nudged(part, place, loss) == pytest.approx(float(gradient[place]), rel=1e-3, abs=1e-5)


def test_vectors_know_their_slope() -> None:
    rng = np.random.default_rng(2)
    model = Static(rng.standard_normal((12, 5)), np.full(12, 2.0))
    model.vectors, model.importance = model.vectors.astype(np.float64), model.importance.astype(np.float64)
    kinds = [
        [Bag(rng.choice(12, 4, replace=False), np.array([1.0, 2, 1, 3])) for _ in range(6)]
        for _ in ("request", "front", "back")
    ]
    teacher = rng.standard_normal((6, 3))
    same = np.zeros((6, 6), dtype=bool)
    same[0, 1] = same[1, 0] = True

    def found() -> tuple[float, list[Array], float]:
        request, front, back = (model.read(bags).units for bags in kinds)
        return losses(request, front, back, same, teacher, 4.0)

    def loss() -> float:
        return found()[0]

    texts, slopes = [model.read(bags) for bags in kinds], found()[1]
    for_vectors, for_importance = model.slope(texts, slopes)
    for place in ((0, 0), (5, 3), (11, 4)):
        assert nudged(model.vectors, place, loss) == pytest.approx(float(for_vectors[place]), rel=1e-3, abs=1e-5)
    assert nudged(model.importance, (3,), loss) == pytest.approx(float(for_importance[3]), rel=1e-3, abs=1e-4)


def test_no_source_is_on_both_sides() -> None:
    asked = [Labelled(f"request {n}", (f"{n}#x",), f"source-{n % 7}", "task") for n in range(50)]
    fold = folds_by_source(asked)
    assert set(fold) == {one.source for one in asked}
    assert len(set(fold.values())) == 5


def test_what_an_author_quotes_becomes_a_request_and_leaves_the_skill() -> None:
    said = '# Use\nTriggers when the user says:\n- "turn this recording into minutes"\n\n'
    body = said + '# Notes\nA "term of art here too" is not one.'
    skill = Plain("me#minutes", "minutes", 'Writes minutes. Use for "sum up what we decided today".', body)
    [bare], requests = quoted_requests([skill])
    assert {one.query for one in requests} == {"turn this recording into minutes", "sum up what we decided today"}
    assert all(one.skills == ("me#minutes",) for one in requests)
    assert "decided" not in bare.description
    assert "recording" not in bare.body
    assert "term of art" in bare.body


def test_calibration_finds_the_odds_that_were_counted() -> None:
    rng = np.random.default_rng(3)
    logits = rng.standard_normal(20_000) * 2
    labels = (rng.random(20_000) < 1 / (1 + np.exp(-(0.5 * logits - 1)))).astype(float)
    assert platt(logits, labels) == pytest.approx((0.5, -1), abs=0.1)
