"""A better description, found with one part of the requests and chosen on the other.

Proposals are based on failures of the training part alone. The best one is chosen on the held-out part, so that an
overfitted description does not win. The current description wins a tie.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from difflib import unified_diff
from typing import Any

from metier.catalog import Catalog, Entry
from metier.models import ChatModel
from metier.selection import Selector
from metier.sources import DiskFiles, replace_bytes
from metier.spec import MAX_SKILL_FILE_BYTES, SKILL_FILE, replace_description
from metier.values import dataclass

from .files import TriggerQuery, read_queries
from .judges import judge_factory
from .proposals import CountedWords, ModelProposals, Propose, is_valid_proposal
from .ranker_judge import selector_with
from .triggers import Split, TriggerJudge, TriggerReport, run_triggers

__all__ = ["Candidate", "OptimizeResult", "SkillOptimization", "optimize_description", "optimize_skill"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillOptimization:
    """The descriptions tried for a skill, and its SKILL.md with the best one."""

    entry: Entry
    result: OptimizeResult
    old: bytes
    new: bytes

    @property
    def diff(self) -> str:
        """A unified diff of SKILL.md; empty if no description was better."""
        old, new = (data.decode("utf-8", "replace").splitlines() for data in (self.old, self.new))
        name = f"{self.entry.name}/{SKILL_FILE}"
        return "\n".join(unified_diff(old, new, name, name, lineterm="", n=1))

    def write(self) -> bool:
        """Writes the best description into SKILL.md. Returns False if unchanged."""
        if self.new != self.old:
            replace_bytes(os.path.join(self.entry.folder, SKILL_FILE), self.new, inside=self.entry.folder)
        return self.new != self.old


async def optimize_skill(
    entry: Entry, *, catalog: Catalog, selector: Selector, model: ChatModel | None = None, runs: int = 3,
    rounds: int = _MOST_ROUNDS, on_progress: Callable[[], None] = lambda: None,
) -> SkillOptimization:  # fmt: skip
    """Looks for a better description with the skill's trigger evals. The local ranker stands in for a missing model."""
    queries = read_queries(DiskFiles(entry.folder), skill=entry.name)
    selector = selector_with(selector, [entry], catalog.entries)
    result = await optimize_description(
        entry.name, entry.description, queries, runs=runs, rounds=rounds, on_progress=on_progress,
        judge=judge_factory(entry, catalog=catalog, selector=selector, model=model),
        propose=ModelProposals(model, entry.name) if model else CountedWords(entry.name),
    )  # fmt: skip
    old = DiskFiles(entry.folder).read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES)
    new = replace_description(old, result.best.description) if result.is_better else old
    return SkillOptimization(entry=entry, result=result, old=old, new=new)


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
