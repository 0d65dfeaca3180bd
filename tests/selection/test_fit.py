"""Skills that fit are activated, even if another one was intended."""

from __future__ import annotations

import numpy as np
import pytest

from metier.selection import MatchDecision, Selector
from metier.selection.confidence import RANK_FEATURES, confidence, fit, log_size_excess
from metier.selection.signals import SIGNALS
from metier.selection.trained_data import Network, load_trained_data
from metier.values import replace
from selection.example_skills import sample

WIDTH = len(SIGNALS) + len(RANK_FEATURES)


def constant(odds: float) -> Network:
    """A network that says the same of everyone."""
    ones = np.ones(WIDTH, dtype=np.float32)
    nothing = np.zeros((1, WIDTH, 1), dtype=np.float32)
    flat = np.zeros((1, 1), dtype=np.float32)
    return Network(middle=ones, spread=ones, hidden=nothing, hidden_bias=flat, output=flat, bias=odds)


def columns(*, front: float, anywhere: float) -> np.ndarray:
    found = np.zeros((1, WIDTH), dtype=np.float32)
    found[0, SIGNALS.index("front_coverage")], found[0, SIGNALS.index("coverage")] = front, anywhere
    return found


@pytest.mark.parametrize(("live_count", "more"), [(1, 0), (1_000, 0), (10_000, 0.5), (100_000, 1.0)])
def test_less_fit_is_enough_in_a_large_library(live_count: int, more: float) -> None:
    assert log_size_excess(live_count) * 0.5 == pytest.approx(more)
    assert fit(columns(front=1, anywhere=1), constant(-1), live_count, 0.5) == pytest.approx(-1 + more)


def test_words_of_a_body_alone_suggest_and_no_words_do_not() -> None:
    [body] = fit(columns(front=0, anywhere=0.9), constant(8), 10, 0)
    [none] = fit(columns(front=0, anywhere=0), constant(8), 10, 0)
    assert Selector().options.suggest < 1 / (1 + np.exp(-body)) < Selector().options.activate
    assert 1 / (1 + np.exp(-none)) < Selector().options.suggest
    assert confidence(columns(front=0, anywhere=0), constant(8)) == none


def test_the_fit_decides_and_the_confidence_does_not() -> None:
    skills = [sample("fill-forms", "Fills in PDF forms. Use when a form is a PDF."), sample("sql", "Tunes slow SQL queries.")]
    networks = {**load_trained_data().networks, "fit": constant(2), "sure": constant(-5)}
    found = Selector(skills, trained=replace(load_trained_data(), networks=networks)).select("fill in this PDF form", limit=1)
    [match] = found
    assert match.decision is MatchDecision.ACTIVATE
    assert match.fit > 0.8
    assert match.confidence < 0.01


def test_of_two_skills_that_both_fit_neither_is_sure() -> None:
    twins = [
        sample(name, "Fills in PDF forms and signs them. Use when a form is a PDF.") for name in ("pdf-forms", "form-filler")
    ]
    other = sample("sql-tuner", "Speeds up slow SQL queries with indexes in PostgreSQL.")
    request = "fill in the tax form that I got as a PDF and sign it"
    first, second = Selector([*twins, other]).select(request, limit=2)
    assert {first.name, second.name} == {"pdf-forms", "form-filler"}
    [alone] = Selector([twins[0], other]).select(request)
    assert max(first.confidence, second.confidence) < alone.confidence


def test_of_two_skills_for_the_same_work_the_better_one_is_activated() -> None:
    charts = [
        sample("chart-maker", "Draws charts and plots from CSV files. Use when the user wants to plot or visualise data."),
        sample("data-viz", "Creates charts, graphs and plots of data in CSV files. Use when asked to plot or chart a table."),
    ]
    other = sample("sql-tuner", "Speeds up slow SQL queries with indexes in PostgreSQL.")
    request = "draw a bar chart from the numbers in sales.csv"
    found = Selector([*charts, other]).select(request, limit=3)
    assert found.selected[0].decision is MatchDecision.ACTIVATE
    assert all(match.decision is not MatchDecision.ACTIVATE for match in found.selected[1:])
    [alone] = Selector([sample(charts[0].name, charts[0].description), other]).select(request)
    with_sibling = next(match for match in found if match.name == alone.name)
    assert with_sibling.fit > 0.8 * alone.fit
