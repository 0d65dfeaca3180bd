"""The search for the version that broke a skill, with known answers for each version."""

from __future__ import annotations

import math

import pytest

from metier.errors import ConflictError, UsageError
from metier.evals import BisectReport, JudgeChoice, Split, TriggerReport, TriggerResult, bisect_versions
from metier.testing import run_now


def report(**passed: bool) -> TriggerReport:
    rows = [
        TriggerResult(
            query=query,
            should_trigger=True,
            triggers=int(ok),
            runs=1,
            split=Split.TRAIN,
            choice=JudgeChoice(triggered=ok),
            passed=ok,
        )
        for query, ok in passed.items()
    ]
    return TriggerReport(skill="pdf", judge="ranker", rows=tuple(rows))


def search(count: int, broken_at: int) -> tuple[BisectReport, list[str]]:
    measured = []

    async def measure(version: str) -> TriggerReport:
        measured.append(version)
        return report(always=True, never=False, breaks=int(version) < broken_at)

    return run_now(bisect_versions("pdf", [str(number) for number in range(count)], measure)), measured


@pytest.mark.parametrize("count", [2, 3, 10, 65])
def test_every_first_bad_version_is_found_in_few_steps(count: int) -> None:
    for broken_at in range(1, count):
        found, measured = search(count, broken_at)
        assert (found.last_good, found.first_bad, found.broken) == (str(broken_at - 1), str(broken_at), ("breaks",))
        assert len(measured) <= 2 + math.ceil(math.log2(count - 1) if count > 2 else 0)


def test_versions_between_which_nothing_broke_are_an_error() -> None:
    with pytest.raises(ConflictError, match="nothing broke"):
        search(4, 9)
    with pytest.raises(UsageError, match="the same"):
        search(1, 1)
