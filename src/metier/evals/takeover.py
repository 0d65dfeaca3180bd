"""Takeovers: requests that one skill takes from another, counted by the local ranker, with an interval.

A request is taken if the ranker would activate both skills for it and prefers the first. The fit of a skill does not depend on
the other skills, so without the first one the second would have been selected.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from metier.selection import Selector
from metier.values import dataclass

from .intervals import wilson_interval

__all__ = ["RequestInterval", "Takeover", "TakeoverReport", "find_takeovers"]

_LOOKED_AT = 4
_LONGEST = 4_000
_SEED = 19


class RequestInterval(NamedTuple):
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    skill: str
    rival: str
    """The skill that would be selected otherwise."""
    taken: int
    """Of `total`; estimated if not all were tested."""
    total: int
    interval: RequestInterval
    """95 %, of `total`."""
    example: str

    def data(self) -> dict[str, Any]:  # Any: JSON
        return {
            "skill": self.skill, "from": self.rival, "taken": self.taken, "of": self.total, "interval": list(self.interval),
            "example": self.example,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeoverReport:
    takeovers: tuple[Takeover, ...] = ()
    """The largest first."""
    tested: int = 0
    total: int = 0


def find_takeovers(
    selector: Selector, requests: Sequence[str], *, among: Collection[str] | None = None,
    is_time_up: Callable[[], bool] = lambda: False,
) -> TakeoverReport:  # fmt: skip
    """Counts the requests that skills with an id in `among`, or all, take from others.

    The requests are tested in a random order that is always the same, until the time is up.
    """
    taken: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    tested = 0
    for text in random.Random(_SEED).sample(requests, len(requests)):  # noqa: S311  (a sample, not a secret)
        if tested and is_time_up():
            break
        tested += 1
        picked = selector.select(text[:_LONGEST], _LOOKED_AT).selected
        fitting = [match for match in picked if match.fit >= selector.options.activate]
        if len(fitting) < 2 or (among is not None and fitting[0].id not in among):
            continue
        pair = (fitting[0].name, fitting[1].name)
        taken[pair] += 1
        examples.setdefault(pair, " ".join(text.split()))
    total = len(requests)
    found = [_takeover(pair, hits, tested, total, examples[pair]) for pair, hits in taken.items() if pair[0] != pair[1]]
    return TakeoverReport(
        takeovers=tuple(sorted(found, key=lambda one: (-one.taken, one.skill, one.rival))), tested=tested, total=total
    )


def _takeover(pair: tuple[str, str], hits: int, tested: int, total: int, example: str) -> Takeover:
    low, high = wilson_interval(hits, tested)
    interval = RequestInterval(math.floor(low * total), math.ceil(high * total))
    return Takeover(
        skill=pair[0], rival=pair[1], taken=round(hits / tested * total), total=total, interval=interval, example=example
    )
