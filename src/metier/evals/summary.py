"""The summary of the runs of both variants: means, spreads, differences, and flags for the author."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from statistics import fmean, median, stdev
from typing import Any

from metier.values import dataclass

from .grades import Grade
from .run_task import TaskResult

__all__ = ["EvalFlag", "FlagKind", "GradedRun", "Spread", "find_flags", "spread", "summarize"]

_FLAKY = 0.3
_OUTLIER = 3.0
_MEASURES = ("pass_rate", "time_seconds", "tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedRun:
    """One graded run of one case in one variant."""

    case: str
    variant: str
    run: int
    result: TaskResult
    grades: tuple[Grade, ...]

    @property
    def pass_rate(self) -> float:
        return sum(grade.passed for grade in self.grades) / len(self.grades) if self.grades else 0.0

    @property
    def measures(self) -> dict[str, float]:
        return {"pass_rate": self.pass_rate, "time_seconds": self.result.seconds, "tokens": float(self.result.tokens)}


@dataclass(frozen=True, slots=True)
class Spread:
    mean: float
    stddev: float

    def data(self) -> dict[str, float]:
        return {"mean": round(self.mean, 3), "stddev": round(self.stddev, 3)}


class FlagKind(StrEnum):
    """The meaning of a flag and the advice."""

    VALUE = "passes only with the skill: keep what causes it"
    HARM = "passes only without the skill: the skill hinders"
    EMPTY = "passes in both: it shows nothing, remove it"
    UNMET = "fails in both: the skill does not teach it, or the assertion is wrong"
    UNCHECKED = "no assertions and no expected output: look at the outputs and write assertions"
    FLAKY = "results vary widely: an instruction is ambiguous"
    SLOW = "took three times as long as the other runs"
    COSTLY = "took three times as many tokens as the other runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalFlag:
    kind: FlagKind
    case: str
    what: str

    def data(self) -> dict[str, str]:
        return {"flag": self.kind.name.lower(), "eval": self.case, "what": self.what, "means": self.kind}


def spread(values: Sequence[float]) -> Spread:
    return Spread(fmean(values) if values else 0.0, stdev(values) if len(values) > 1 else 0.0)


def summarize(done: Sequence[GradedRun], variants: Sequence[str]) -> dict[str, Any]:
    """`run_summary` in the format of other tools: the measures of each variant, and their difference."""
    means = {variant: {name: spread(_values(done, variant, name)) for name in _MEASURES} for variant in variants}
    first, second = variants
    delta = {name: round(means[first][name].mean - means[second][name].mean, 3) for name in _MEASURES}
    return {**{variant: {name: one.data() for name, one in each.items()} for variant, each in means.items()}, "delta": delta}


def _values(done: Sequence[GradedRun], variant: str, name: str) -> list[float]:
    # A run without grades has neither passed nor failed.
    return [one.measures[name] for one in done if one.variant == variant and (one.grades or name != "pass_rate")]


def find_flags(done: Sequence[GradedRun], variants: Sequence[str]) -> tuple[EvalFlag, ...]:
    cases = dict.fromkeys(one.case for one in done)
    return tuple(flag for case in cases for flag in _of_case([one for one in done if one.case == case], case, variants))


def _of_case(done: Sequence[GradedRun], case: str, variants: Sequence[str]) -> Iterable[EvalFlag]:
    claims = dict.fromkeys(grade.text for one in done for grade in one.grades)
    if not claims:
        yield EvalFlag(kind=FlagKind.UNCHECKED, case=case, what="no assertions")
    for text in claims:
        rates = [_rate(done, variant, text) for variant in variants]
        kind = _kind(*rates)
        if kind:
            yield EvalFlag(kind=kind, case=case, what=text)
    for variant in variants:
        runs = [one for one in done if one.variant == variant]
        if spread([one.pass_rate for one in runs]).stddev > _FLAKY:
            yield EvalFlag(kind=FlagKind.FLAKY, case=case, what=variant)
    for kind, values in (
        (FlagKind.SLOW, [one.result.seconds for one in done]),
        (FlagKind.COSTLY, [one.result.tokens for one in done]),
    ):
        usual = median(values)
        for one, value in zip(done, values, strict=True):
            if len(values) > 2 and usual > 0 and value > _OUTLIER * usual:
                yield EvalFlag(kind=kind, case=case, what=f"{one.variant}, run {one.run}")


def _rate(done: Sequence[GradedRun], variant: str, text: str) -> float:
    truths = [grade.passed for one in done if one.variant == variant for grade in one.grades if grade.text == text]
    return sum(truths) / len(truths) if truths else 0.0


def _kind(with_skill: float, without: float) -> FlagKind | None:
    """The flag of an assertion, by its pass rates with the skill and without."""
    if with_skill > 0.5 >= without:
        return FlagKind.VALUE
    if without > 0.5 >= with_skill:
        return FlagKind.HARM
    if with_skill == without == 1.0:
        return FlagKind.EMPTY
    return FlagKind.UNMET if with_skill == without == 0.0 else None
