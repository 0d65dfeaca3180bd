"""Wilson's interval, against values of the literature."""

from __future__ import annotations

import pytest

from metier.evals.intervals import decided_by, wilson_interval


@pytest.mark.parametrize(
    ("hits", "runs", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (1, 3, 0.0615, 0.7923), (81, 263, 0.2553, 0.3662)],
)
def test_the_interval_is_wilsons(hits: int, runs: int, low: float, high: float) -> None:
    assert list(wilson_interval(hits, runs)) == pytest.approx([low, high], abs=1e-4)


def test_no_run_says_nothing() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_four_runs_alike_decide_and_three_do_not() -> None:
    assert [decided_by(hits, runs) for hits, runs in ((3, 3), (4, 4), (0, 3), (0, 4), (4, 5))] == [
        None,
        True,
        None,
        False,
        None,
    ]
