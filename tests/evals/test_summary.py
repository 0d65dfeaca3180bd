"""Means, spreads, differences and flags."""

from __future__ import annotations

from dataclasses import replace

from metier.evals.grades import Grade
from metier.evals.run_task import TaskResult
from metier.evals.summary import FlagKind, GradedRun, find_flags, spread, summarize

ARMS = ("with_skill", "without_skill")


def done(arm: str, *passed: bool, run: int = 1, seconds: float = 1.0, tokens: int = 100) -> GradedRun:
    grades = tuple(Grade(text=f"claim {number}", passed=each, evidence="x") for number, each in enumerate(passed))
    return GradedRun(
        case="a", variant=arm, run=run, result=TaskResult(answer="", tokens=tokens, seconds=seconds), grades=grades
    )


def test_a_spread_is_the_sample_standard_deviation() -> None:
    assert spread([0.0, 1.0]).data() == {"mean": 0.5, "stddev": 0.707}
    assert (spread([3.0]).data(), spread([]).data()) == ({"mean": 3.0, "stddev": 0.0}, {"mean": 0.0, "stddev": 0.0})


def test_the_difference_is_the_first_arm_minus_the_second() -> None:
    found = summarize(
        [done(ARMS[0], True, True, seconds=5, tokens=900), done(ARMS[1], True, False, seconds=2, tokens=400)], ARMS
    )
    assert found["delta"] == {"pass_rate": 0.5, "time_seconds": 3.0, "tokens": 500.0}
    assert found["with_skill"]["tokens"]["mean"] == 900


def test_every_kind_of_assertion_is_flagged() -> None:
    runs = [done(ARMS[0], True, False, True, False), done(ARMS[1], False, True, True, False)]
    assert [flag.kind for flag in find_flags(runs, ARMS)] == [FlagKind.VALUE, FlagKind.HARM, FlagKind.EMPTY, FlagKind.UNMET]


def test_runs_that_pass_now_and_then_are_flaky() -> None:
    runs = [done(ARMS[0], number % 2 == 0, run=number) for number in range(4)] + [done(ARMS[1], True)]
    assert FlagKind.FLAKY in {flag.kind for flag in find_flags(runs, ARMS)}


def test_a_run_three_times_as_long_or_expensive_is_reported() -> None:
    runs = [done(ARMS[0], True, run=number, seconds=1) for number in (1, 2)]
    runs += [done(ARMS[1], True, run=1, seconds=3.1), done(ARMS[1], True, run=2, tokens=301)]
    found = {flag.kind: flag.what for flag in find_flags(runs, ARMS)}
    assert (found[FlagKind.SLOW], found[FlagKind.COSTLY]) == ("without_skill, run 1", "without_skill, run 2")
    assert FlagKind.SLOW not in {flag.kind for flag in find_flags(runs[:2] + runs[3:], ARMS)}


def test_a_task_without_checks_is_reported_and_counts_in_no_rate() -> None:
    unchecked = [replace(done(arm), case="b") for arm in ARMS]
    runs = [done(ARMS[0], True), done(ARMS[1], True), *unchecked]
    assert [(flag.kind, flag.case) for flag in find_flags(runs, ARMS)] == [(FlagKind.EMPTY, "a"), (FlagKind.UNCHECKED, "b")]
    assert summarize(runs, ARMS)["with_skill"]["pass_rate"] == {"mean": 1.0, "stddev": 0.0}
