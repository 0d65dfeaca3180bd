"""Rates, early stops and the split into rows, independent of the judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.errors import UnavailableError
from metier.evals.files import TriggerQuery
from metier.evals.triggers import JudgeChoice, Split, assign_splits, decide, run_triggers
from metier.testing import run_now


class Scripted:
    """A judge that answers each request from a list."""

    name = "scripted"

    def __init__(self, answers: Mapping[str, Sequence[bool]], *, deterministic: bool = False) -> None:
        self.answers = {query: list(each) for query, each in answers.items()}
        self.deterministic = deterministic
        self.asked: list[str] = []

    async def __call__(self, query: str) -> JudgeChoice:
        self.asked.append(query)
        return JudgeChoice(triggered=self.answers[query].pop(0), winner="other")


def ask(should: bool, answers: Sequence[bool], runs: int = 3) -> tuple[int, int, bool]:
    report = run_now(run_triggers("a", [TriggerQuery(text="q", should_trigger=should)], Scripted({"q": answers}), runs=runs))
    (row,) = report.rows
    return row.triggers, row.runs, row.passed


def test_two_of_three_pass_a_positive_and_one_of_three_a_negative() -> None:
    assert ask(True, [True, False, True]) == (2, 3, True)
    assert ask(False, [True, False, False]) == (1, 3, True)


def test_it_stops_as_soon_as_nothing_can_change() -> None:
    assert ask(True, [True, True]) == (2, 2, True)
    assert ask(True, [False, False]) == (0, 2, False)
    assert ask(False, [False, False]) == (0, 2, True)
    assert ask(False, [True, True]) == (2, 2, False)


def test_a_tie_is_a_failure_of_either_kind() -> None:
    assert ask(True, [True, False, True, False], runs=4)[2] is False
    assert ask(False, [True, False, True, False], runs=4)[2] is False


@given(st.booleans(), st.integers(1, 9).flatmap(lambda runs: st.lists(st.booleans(), min_size=runs, max_size=runs)))
def test_stopping_early_never_changes_the_answer(should: bool, answers: list[bool]) -> None:
    runs = len(answers)
    rate = sum(answers) / runs
    first = next(made for made in range(1, runs + 1) if decide(should, sum(answers[:made]), made, runs) is not None)
    assert decide(should, sum(answers[:first]), first, runs) is (rate > 0.5 if should else rate < 0.5)


def test_a_judge_that_always_says_the_same_is_asked_once() -> None:
    judge = Scripted({"q": [True]}, deterministic=True)
    run_now(run_triggers("a", [TriggerQuery(text="q", should_trigger=True)], judge, runs=3))
    assert judge.asked == ["q"]


def test_a_judge_that_cannot_be_reached_ends_the_evaluation_with_its_own_error() -> None:
    class Away:
        name, deterministic = "away", True

        async def __call__(self, query: str) -> JudgeChoice:
            raise UnavailableError("the model cannot be reached", hint="start it")

    queries = [TriggerQuery(text=str(number), should_trigger=True) for number in range(30)]
    with pytest.raises(UnavailableError, match="the model cannot be reached"):
        run_now(run_triggers("a", queries, Away()))


def test_precision_and_recall_are_of_the_requests() -> None:
    answers = {"a": [True], "b": [False], "c": [True], "d": [False]}
    queries = [TriggerQuery(text=text, should_trigger=text in "ab") for text in "abcd"]
    report = run_now(run_triggers("s", queries, Scripted(answers, deterministic=True)))
    assert (report.precision, report.recall, report.pass_rate) == (0.5, 0.5, 0.5)
    assert [row.query for row in report.failures] == ["b", "c"]
    assert report.data()["summary"]["failed"] == 2


def queries_of(wanted: int, unwanted: int) -> list[TriggerQuery]:
    kinds = [True] * wanted + [False] * unwanted
    return [TriggerQuery(text=f"request {number}", should_trigger=kind) for number, kind in enumerate(kinds)]


@pytest.mark.parametrize(("wanted", "unwanted"), [(10, 10), (5, 20), (8, 9)])
def test_forty_of_a_hundred_of_each_kind_are_held_back(wanted: int, unwanted: int) -> None:
    queries = queries_of(wanted, unwanted)
    splits = assign_splits(queries)
    for kind, count in ((True, wanted), (False, unwanted)):
        held = sum(s is Split.VALIDATION for s, q in zip(splits, queries, strict=True) if q.should_trigger is kind)
        assert held == round(count * 0.4)


def test_the_split_does_not_depend_on_the_order() -> None:
    queries = queries_of(10, 10)
    there = dict(zip((query.text for query in queries), assign_splits(queries), strict=True))
    back = dict(zip((query.text for query in reversed(queries)), assign_splits(queries[::-1]), strict=True))
    assert there == back


def test_every_row_says_what_other_tools_call_it() -> None:
    report = run_now(run_triggers("a", [TriggerQuery(text="q", should_trigger=True)], Scripted({"q": [False, False]})))
    row = report.data()["results"][0]
    assert {"query", "should_trigger", "triggers", "runs", "trigger_rate", "pass"} <= row.keys()
    assert (row["trigger_rate"], row["pass"], row["winner"]) == (0.0, False, "other")


def test_all_combinations_are_decided_in_the_end() -> None:
    for should, runs in product((True, False), range(1, 6)):
        for hits in range(runs + 1):
            assert decide(should, hits, runs, runs) is not None
