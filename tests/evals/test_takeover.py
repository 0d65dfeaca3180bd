"""Requests that one skill takes from another."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from metier.evals import find_takeovers, wilson_interval
from metier.selection import Selector


@dataclass(frozen=True)
class Written:
    name: str
    description: str

    @property
    def id(self) -> str:
        return f"/skills/{self.name}"


CHARTS = Written("charts", "Draws charts and plots of sales. Use when the user wants a chart or a plot of sales.")
PLOTS = Written("plots", "Plots sales as bar charts and lines. Use when the user wants a plot or a chart of sales.")
PLANTS = Written("plants", "Waters the plants in the office. Use when the plants are dry.")
REQUESTS = ["draw a chart of the sales", "plot the sales as a bar chart", "the plants are dry", "why is the sky blue?"]


def test_requests_that_fit_two_skills_are_counted_with_an_interval() -> None:
    report = find_takeovers(Selector([CHARTS, PLOTS, PLANTS]), REQUESTS)
    assert (report.tested, report.total) == (4, 4)
    assert sum(one.taken for one in report.takeovers) == 2
    for one in report.takeovers:
        assert {one.skill, one.rival} == {"charts", "plots"}
        assert one.interval.low <= one.taken <= one.interval.high <= 4
        assert one.example in REQUESTS


def test_only_what_the_named_skills_take_is_counted() -> None:
    assert find_takeovers(Selector([CHARTS, PLOTS, PLANTS]), REQUESTS, among={PLANTS.id}).takeovers == ()


def test_a_sample_is_scaled_to_all_requests() -> None:
    ticks = iter([False] * 9 + [True])
    report = find_takeovers(Selector([CHARTS, PLOTS]), [REQUESTS[1]] * 100, is_time_up=lambda: next(ticks))
    assert (report.tested, report.total) == (10, 100)
    [one] = report.takeovers
    assert one.taken == 100
    assert one.interval.low < 75
    assert one.interval.high == 100


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"), [(7, 400, 0.0085, 0.0357), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (0, 0, 0.0, 1.0)]
)
def test_the_score_interval(hits: int, trials: int, low: float, high: float) -> None:
    assert wilson_interval(hits, trials) == pytest.approx((low, high), abs=1e-4)
