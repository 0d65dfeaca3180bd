"""The version of a skill that broke its evals, found by halves.

The requests that pass with the good version and fail with the bad one are the measure: a version is bad if one of them fails.
All versions are measured with the same requests, whatever evals each of them has.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from metier.errors import ConflictError, UsageError
from metier.values import dataclass

from .triggers import TriggerReport

__all__ = ["BisectReport", "BisectStep", "bisect_versions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectStep:
    """One version that was measured."""

    version: str
    report: TriggerReport
    failed: tuple[str, ...]
    """The requests of the measure that fail."""

    @property
    def good(self) -> bool:
        return not self.failed

    def data(self) -> dict[str, Any]:
        passed = len(self.report.rows) - len(self.report.failures)
        return {
            "version": self.version, "good": self.good, "passed": passed, "total": len(self.report.rows),
            "failed": list(self.failed),
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectReport:
    skill: str
    judge: str
    steps: tuple[BisectStep, ...]
    """In the order in which they were measured: the good version, the bad one, and those between."""
    last_good: str
    first_bad: str
    between: int
    """The number of versions between the good one and the bad one."""

    @property
    def broken(self) -> tuple[str, ...]:
        """The requests that the first bad version fails."""
        return next(step.failed for step in self.steps if step.version == self.first_bad)

    def data(self) -> dict[str, Any]:
        return {
            "skill": self.skill, "judge": self.judge, "last_good": self.last_good, "first_bad": self.first_bad,
            "broken": list(self.broken), "between": self.between, "steps": [step.data() for step in self.steps],
        }  # fmt: skip


async def bisect_versions(
    skill: str, versions: Sequence[str], measure: Callable[[str], Awaitable[TriggerReport]]
) -> BisectReport:
    """`versions` are in order, the good one first and the bad one last. ConflictError if nothing broke between them."""
    if len(versions) < 2:
        raise UsageError("the good version and the bad one are the same", hint="name two versions")
    good, bad = await measure(versions[0]), await measure(versions[-1])
    passed = {row.query for row in good.rows if row.passed}
    broken = tuple(row.query for row in bad.failures if row.query in passed)
    if not broken:
        raise ConflictError(
            f"every request that passes with {versions[0]} also passes with {versions[-1]}: nothing broke",
            hint="swap --good and --bad, or measure with another judge (--agent)",
        )
    steps = [_step(versions[0], good, broken), _step(versions[-1], bad, broken)]
    low, high = 0, len(versions) - 1
    while high - low > 1:
        middle = (low + high) // 2
        step = _step(versions[middle], await measure(versions[middle]), broken)
        steps.append(step)
        low, high = (middle, high) if step.good else (low, middle)
    return BisectReport(
        skill=skill, judge=good.judge, steps=tuple(steps), last_good=versions[low], first_bad=versions[high],
        between=len(versions) - 2,
    )  # fmt: skip


def _step(version: str, report: TriggerReport, broken: Sequence[str]) -> BisectStep:
    failures = {row.query for row in report.failures}
    return BisectStep(version=version, report=report, failed=tuple(query for query in broken if query in failures))
