"""A better description, found with one part of the requests and chosen on the other.

Proposals are based on failures of the training part alone. The best one is chosen on the held-out part, so that an
overfitted description does not win. The current description wins a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from metier.values import dataclass

from .files import TriggerQuery
from .proposals import Propose, is_valid_proposal
from .triggers import Split, TriggerJudge, TriggerReport, run_triggers

__all__ = ["Candidate", "OptimizeResult", "optimize_description"]

_MOST_ROUNDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A description with its trigger report."""

    description: str
    report: TriggerReport

    @property
    def train(self) -> float:
        return self.report.only(Split.TRAIN).pass_rate

    @property
    def validation(self) -> float:
        return self.report.only(Split.VALIDATION).pass_rate

    def data(self) -> dict[str, Any]:
        rates = {"train": round(self.train, 3), "validation": round(self.validation, 3)}
        return {"description": self.description, **rates, "failed": len(self.report.failures)}


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizeResult:
    before: Candidate
    best: Candidate
    tried: tuple[Candidate, ...]

    @property
    def is_better(self) -> bool:
        return self.best is not self.before


async def optimize_description(
    skill: str, description: str, queries: Sequence[TriggerQuery], *, judge: Callable[[str], TriggerJudge],
    propose: Propose, runs: int = 3,
    rounds: int = _MOST_ROUNDS, on_progress: Callable[[], None] = lambda: None,
) -> OptimizeResult:  # fmt: skip
    """`judge` makes the judge of a description. `on_progress` is called after each description."""

    async def evaluate(text: str) -> Candidate:
        report = await run_triggers(skill, queries, judge(text), runs=runs)
        on_progress()
        return Candidate(description=text, report=report)

    before = await evaluate(description)
    tried = [before]
    for _ in range(rounds):
        leader = max(tried, key=lambda one: one.train)
        rows = leader.report.only(Split.TRAIN).rows
        if leader.train == 1.0:
            break
        known = {one.description for one in tried}
        proposed = await propose(leader.description, rows, [(one.description, one.train) for one in tried])
        new = [text for text in proposed if text not in known and is_valid_proposal(text, description, before.report.rows)]
        if not new and propose.deterministic:
            break
        tried += [await evaluate(text) for text in new]
    # max returns the first of equals, and the current description is first.
    best = max(tried, key=lambda one: (one.validation, one.train))
    return OptimizeResult(before=before, best=best, tried=tuple(tried))
