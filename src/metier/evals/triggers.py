"""Trigger evals: is the skill selected when it should be, and only then?

Each request goes to a judge, the local ranker, a model or an agent program: once for the ranker, which is deterministic, up to
`runs` times for the others, fewer if the rest cannot change the result or if the interval of the rate excludes one half. A
request that should trigger passes if the skill is selected in more than half of the runs, one that should not if it is selected
in less than half.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, Protocol

from metier.values import dataclass

from .files import TriggerQuery
from .intervals import decided_by, wilson_interval
from .parallel import run_parallel

__all__ = [
    "AT_ONCE",
    "JudgeChoice",
    "Split",
    "TriggerJudge",
    "TriggerReport",
    "TriggerResult",
    "assign_splits",
    "decide",
    "run_triggers",
]

AT_ONCE = 10
_VALIDATION = 0.4


class Split(StrEnum):
    """Training requests improve a description; validation requests choose the best one."""

    TRAIN = "train"
    VALIDATION = "validation"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeChoice:
    """The answer of a judge to one request."""

    triggered: bool
    winner: str = ""
    """The skill that came first; empty if none was selected."""
    why: str = ""
    """The judge's reason."""
    own: str = ""
    """The result of the evaluated skill itself."""
    tokens: int = 0
    """Of the request and the answer, as far as the model reports them."""
    seconds: float = 0.0


class TriggerJudge(Protocol):
    """Selects skills for a request. It knows the catalog and the evaluated skill."""

    name: str
    deterministic: bool

    async def __call__(self, query: str) -> JudgeChoice: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerResult:
    query: str
    should_trigger: bool
    triggers: int
    runs: int
    split: Split
    choice: JudgeChoice
    """The last wrong one, else the last one."""
    passed: bool
    interval: tuple[float, float] | None = None
    """The 95 % interval of the trigger rate; None for a deterministic judge."""
    tokens: int = 0
    seconds: float = 0.0

    @property
    def trigger_rate(self) -> float:
        return self.triggers / self.runs

    def data(self) -> dict[str, Any]:
        keys = ("query", "should_trigger", "triggers", "runs")
        body = {key: getattr(self, key) for key in keys}
        choice = {"winner": self.choice.winner or None, "why": self.choice.why, "own": self.choice.own}
        measured: dict[str, Any] = {}
        if self.interval:
            measured["interval"] = [round(end, 3) for end in self.interval]
        if self.seconds:
            measured |= {"tokens": self.tokens, "seconds": round(self.seconds, 3)}
        rate = {"trigger_rate": round(self.trigger_rate, 3), **measured}
        return {**body, **rate, "pass": self.passed, "split": self.split, **choice}


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
        """The share of correct ones among the requests that selected the skill."""
        return _share([row.should_trigger for row in self.rows if row.trigger_rate > 0.5])

    @property
    def recall(self) -> float | None:
        return _share([row.trigger_rate > 0.5 for row in self.rows if row.should_trigger])

    @property
    def is_sampled(self) -> bool:
        """True if the judge may answer differently each time, so that rates have intervals."""
        return any(row.interval for row in self.rows)

    @property
    def tokens(self) -> int:
        return sum(row.tokens for row in self.rows)

    @property
    def seconds(self) -> float:
        return sum(row.seconds for row in self.rows)

    def triggered(self, *, should: bool) -> tuple[int, int]:
        """Returns the number of requests of a kind that select the skill in more than half of the runs, and of all."""
        rates = [row.trigger_rate for row in self.rows if row.should_trigger is should]
        return sum(rate > 0.5 for rate in rates), len(rates)

    def data(self) -> dict[str, Any]:
        summary: dict[str, Any] = {
            "total": len(self.rows), "passed": len(self.rows) - len(self.failures), "failed": len(self.failures),
            "pass_rate": round(self.pass_rate, 3), "precision": _round(self.precision), "recall": _round(self.recall),
            **{str(split): round(self.only(split).pass_rate, 3) for split in Split},
        }  # fmt: skip
        if self.is_sampled:
            kinds = {"should_trigger": True, "should_not_trigger": False}
            summary["triggered"] = {name: _rate(*self.triggered(should=kind)) for name, kind in kinds.items()}
        if self.seconds:
            summary |= {"tokens": self.tokens, "seconds": round(self.seconds, 3)}
        rows = [row.data() for row in self.rows]
        return {"skill": self.skill, "judge": self.judge, "summary": summary, "results": rows, "notes": list(self.notes)}


async def run_triggers(
    skill: str, queries: Sequence[TriggerQuery], judge: TriggerJudge, *, runs: int = 3,
    on_progress: Callable[[], None] = lambda: None,
    notes: Iterable[str] = (), at_once: int = AT_ONCE,
) -> TriggerReport:  # fmt: skip
    """Sends every request to the judge, several in parallel. `on_progress` is called after each."""

    async def one(query: TriggerQuery, split: Split) -> TriggerResult:
        row = await _evaluate(query, judge, 1 if judge.deterministic else runs, split)
        on_progress()
        return row

    asked = zip(queries, assign_splits(queries), strict=True)
    rows = await run_parallel((partial(one, query, split) for query, split in asked), at_once=at_once)
    return TriggerReport(skill=skill, judge=judge.name, rows=tuple(rows), notes=tuple(notes))


def decide(should_trigger: bool, hits: int, made: int, runs: int) -> bool | None:
    """Returns whether a request passed; None while the remaining runs can change it."""
    left = runs - made
    if should_trigger:
        return True if 2 * hits > runs else False if 2 * (hits + left) <= runs else None
    return True if 2 * (hits + left) < runs else False if 2 * hits >= runs else None


def assign_splits(queries: Sequence[TriggerQuery]) -> tuple[Split, ...]:
    """Splits 60 to 40 within each kind by a hash of the text, so that the order of the file does not matter."""
    held_out = set()
    for kind in (True, False):
        texts = sorted((query.text for query in queries if query.should_trigger is kind), key=_hash)
        held_out.update(texts[: round(len(texts) * _VALIDATION)])
    return tuple(Split.VALIDATION if query.text in held_out else Split.TRAIN for query in queries)


async def _evaluate(query: TriggerQuery, judge: TriggerJudge, runs: int, split: Split) -> TriggerResult:
    hits = made = tokens = 0
    seconds = 0.0
    verdict, shown = None, JudgeChoice(triggered=False)
    while verdict is None:
        choice = await judge(query.text)
        made += 1
        hits += choice.triggered
        tokens, seconds = tokens + choice.tokens, seconds + choice.seconds
        verdict = decide(query.should_trigger, hits, made, runs)
        if verdict is None and (certain := decided_by(hits, made)) is not None:
            verdict = certain is query.should_trigger
        if shown.triggered is query.should_trigger or made == 1:
            shown = choice
    return TriggerResult(
        query=query.text, should_trigger=query.should_trigger, triggers=hits, runs=made, split=split, choice=shown,
        passed=verdict, interval=None if judge.deterministic else wilson_interval(hits, made), tokens=tokens, seconds=seconds,
    )  # fmt: skip


def _rate(hits: int, total: int) -> dict[str, Any]:
    return {"requests": total, "triggered": hits, "interval": [round(end, 3) for end in wilson_interval(hits, total)]}


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _share(truths: list[bool]) -> float | None:
    return sum(truths) / len(truths) if truths else None


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
