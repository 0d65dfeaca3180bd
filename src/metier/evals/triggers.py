"""Is the skill picked when it should be, and left alone when it should not?

Each request is put to a judge, the local ranker or a model, as often as it takes to decide: once for the ranker, which
always says the same, up to `runs` times for a model, fewer as soon as the rest cannot change the answer. A request that
should trigger passes above half, one that should not below.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, Protocol

from .files import TriggerQuery
from .parallel import run_parallel

__all__ = ["JudgeChoice", "Split", "TriggerJudge", "TriggerReport", "TriggerResult", "assign_splits", "decide", "run_triggers"]

_WORKERS = 10
_VALIDATION = 0.4


class Split(StrEnum):
    """What a description may be improved with, and what it is then chosen on."""

    TRAIN = "train"
    VALIDATION = "validation"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeChoice:
    """One judge's answer to one request."""

    triggered: bool
    winner: str = ""
    """The skill that came first; empty when none was picked."""
    why: str = ""
    """Why that one, in the judge's words."""
    own: str = ""
    """How the skill itself fared."""


class TriggerJudge(Protocol):
    """Picks skills for a request. The catalog and the skill that is looked at are its own."""

    name: str
    steady: bool
    """Does it always answer the same?"""

    async def __call__(self, query: str) -> JudgeChoice: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerResult:
    """What came of one request."""

    query: str
    should_trigger: bool
    triggers: int
    runs: int
    split: Split
    choice: JudgeChoice
    """The last one that went wrong, else the last."""
    passed: bool

    @property
    def trigger_rate(self) -> float:
        return self.triggers / self.runs

    def data(self) -> dict[str, Any]:
        keys = ("query", "should_trigger", "triggers", "runs")
        body = {key: getattr(self, key) for key in keys}
        choice = {"winner": self.choice.winner or None, "why": self.choice.why, "own": self.choice.own}
        return {**body, "trigger_rate": round(self.trigger_rate, 3), "pass": self.passed, "split": self.split, **choice}


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerReport:
    skill: str
    judge: str
    rows: tuple[TriggerResult, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.failures

    @property
    def failures(self) -> tuple[TriggerResult, ...]:
        return tuple(row for row in self.rows if not row.passed)

    def only(self, split: Split) -> TriggerReport:
        rows = tuple(row for row in self.rows if row.split is split)
        return TriggerReport(skill=self.skill, judge=self.judge, rows=rows)

    @property
    def pass_rate(self) -> float:
        return sum(row.passed for row in self.rows) / len(self.rows) if self.rows else 1.0

    @property
    def precision(self) -> float | None:
        """Of the requests that it was picked for, how many it should have been picked for."""
        return _share([row.should_trigger for row in self.rows if row.trigger_rate > 0.5])

    @property
    def recall(self) -> float | None:
        return _share([row.trigger_rate > 0.5 for row in self.rows if row.should_trigger])

    def data(self) -> dict[str, Any]:
        summary = {
            "total": len(self.rows), "passed": len(self.rows) - len(self.failures), "failed": len(self.failures),
            "pass_rate": round(self.pass_rate, 3), "precision": _rounded(self.precision), "recall": _rounded(self.recall),
            **{str(split): round(self.only(split).pass_rate, 3) for split in Split},
        }  # fmt: skip
        rows = [row.data() for row in self.rows]
        return {"skill": self.skill, "judge": self.judge, "summary": summary, "results": rows, "notes": list(self.notes)}


async def run_triggers(
    skill: str, queries: Sequence[TriggerQuery], judge: TriggerJudge, *, runs: int = 3,
    on_progress: Callable[[], None] = lambda: None,
    notes: Iterable[str] = (),
) -> TriggerReport:  # fmt: skip
    """Every request to the judge, some at a time. `on_progress` is called after each."""

    async def one(query: TriggerQuery, split: Split) -> TriggerResult:
        row = await _asked(query, judge, 1 if judge.steady else runs, split)
        on_progress()
        return row

    asked = zip(queries, assign_splits(queries), strict=True)
    rows = await run_parallel((partial(one, query, split) for query, split in asked), at_once=_WORKERS)
    return TriggerReport(skill=skill, judge=judge.name, rows=tuple(rows), notes=tuple(notes))


def decide(should_trigger: bool, hits: int, made: int, runs: int) -> bool | None:
    """Passed, failed, or None while the runs that are left could still change it."""
    left = runs - made
    if should_trigger:
        return True if 2 * hits > runs else False if 2 * (hits + left) <= runs else None
    return True if 2 * (hits + left) < runs else False if 2 * hits >= runs else None


def assign_splits(queries: Sequence[TriggerQuery]) -> tuple[Split, ...]:
    """60 to 40 within each kind, by the requests' own text, so that neither the file's order nor a second run changes it."""
    held = set()
    for kind in (True, False):
        texts = sorted((query.text for query in queries if query.should_trigger is kind), key=_mixed)
        held.update(texts[: round(len(texts) * _VALIDATION)])
    return tuple(Split.VALIDATION if query.text in held else Split.TRAIN for query in queries)


async def _asked(query: TriggerQuery, judge: TriggerJudge, runs: int, split: Split) -> TriggerResult:
    hits = made = 0
    verdict, shown = None, JudgeChoice(triggered=False)
    while verdict is None:
        choice = await judge(query.text)
        made += 1
        hits += choice.triggered
        verdict = decide(query.should_trigger, hits, made, runs)
        if shown.triggered is query.should_trigger or made == 1:
            shown = choice
    return TriggerResult(
        query=query.text, should_trigger=query.should_trigger, triggers=hits, runs=made, split=split, choice=shown,
        passed=verdict,
    )  # fmt: skip


def _mixed(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _share(truths: list[bool]) -> float | None:
    return sum(truths) / len(truths) if truths else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
