"""Measures how well a library's skills are found: rankers side by side, decay by size, confusions and a clean-up proposal.

A request counts as found if its skill comes first. The clean-up is chosen on one half of the requests and measured on the
other, so that its gain is not that of the choice itself.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from metier.errors import plural
from metier.selection import SelectableSkill
from metier.values import dataclass

from .intervals import wilson_interval
from .rankers import MakeRanker

__all__ = ["BenchRequest", "BlackHole", "CleanUp", "Confusion", "DecayPoint", "LibraryBench", "RankerScore", "bench_library"]

_DEPTH = 10
_SIZES = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
_SUBSETS = 3
_MOST_PER_POINT = 200
_LEAST_TAKEN = 2
"""Requests of other skills that a skill must take before it is worth naming."""
_MOST_OFF = 5
_LEAST_FOR_CLEAN_UP = 20
_SEED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest:
    text: str
    skill: str
    """The id of the right skill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankerScore:
    ranker: str
    requests: int
    first: int
    """Requests whose skill came first."""
    in_five: int
    ndcg: float
    """NDCG@10: with one right skill, 1 for the first place and less for each later one."""

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, of the share that came first."""
        return wilson_interval(self.first, self.requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayPoint:
    size: int
    """Skills in the library; smaller ones are random subsets."""
    first: dict[str, float]
    """The share of requests whose skill came first, by ranker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    skill: str
    rival: str
    """The skill that came first instead."""
    requests: int
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackHole:
    """A skill that comes first for requests of other skills."""

    skill: str
    taken: int
    victims: int
    """Skills that lose requests to it."""
    own: int
    """Requests of its own that it gets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanUp:
    off: tuple[str, ...]
    """Skills to switch off; their own requests count as lost."""
    tested: int
    """Requests that were not used for the choice."""
    before: int
    after: int

    @property
    def intervals(self) -> tuple[tuple[float, float], tuple[float, float]]:
        return wilson_interval(self.before, self.tested), wilson_interval(self.after, self.tested)


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryBench:
    skills: int
    requests: int
    scores: tuple[RankerScore, ...]
    decay: tuple[DecayPoint, ...]
    confusions: tuple[Confusion, ...]
    black_holes: tuple[BlackHole, ...]
    clean_up: CleanUp | None
    """None if nothing is gained, or if there are too few requests."""

    def data(self) -> dict[str, Any]:  # Any: JSON
        return {
            "skills": self.skills,
            "requests": self.requests,
            "rankers": [
                {
                    "name": one.ranker, "first": one.first, "in_five": one.in_five, "ndcg": round(one.ndcg, 4),
                    "interval": [round(limit, 4) for limit in one.interval],
                }
                for one in self.scores
            ],
            "decay": [{"skills": one.size, "first": {k: round(v, 4) for k, v in one.first.items()}} for one in self.decay],
            "confusions": [
                {"skill": one.skill, "rival": one.rival, "requests": one.requests, "example": one.example}
                for one in self.confusions
            ],
            "black_holes": [
                {"skill": one.skill, "taken": one.taken, "victims": one.victims, "own": one.own} for one in self.black_holes
            ],
            "clean_up": {
                "off": list(self.clean_up.off), "tested": self.clean_up.tested, "before": self.clean_up.before,
                "after": self.clean_up.after,
            }
            if self.clean_up
            else None,
        }  # fmt: skip


def bench_library(
    skills: Sequence[SelectableSkill], requests: Sequence[BenchRequest], rankers: Mapping[str, MakeRanker], *,
    progress: Callable[[str], None] = lambda _: None,
) -> LibraryBench:  # fmt: skip
    """Measures the rankers on a library. Confusions, black holes and the clean-up are those of the first ranker."""
    asked = [one for one in requests if any(one.skill == skill.id for skill in skills)]
    names = {skill.id: skill.name for skill in skills}
    ranked: dict[str, list[Sequence[str]]] = {}
    for name, make in rankers.items():
        progress(f"{name}: {plural(len(asked), 'request')}")
        rank = make(skills)
        ranked[name] = [rank(one.text, _DEPTH) for one in asked]
    main, make = next(iter(rankers.items()))
    winners = [(one, ids[0]) for one, ids in zip(asked, ranked[main], strict=True) if ids]
    return LibraryBench(
        skills=len(skills),
        requests=len(asked),
        scores=tuple(_score(name, asked, each) for name, each in ranked.items()),
        decay=tuple(_decay(skills, asked, rankers, progress)),
        confusions=_confusions(winners, names),
        black_holes=_black_holes(winners, names),
        clean_up=_clean_up(skills, asked, ranked[main], make, names),
    )


def _score(name: str, requests: Sequence[BenchRequest], ranked: Sequence[Sequence[str]]) -> RankerScore:
    places = [list(ids).index(one.skill) if one.skill in ids else None for one, ids in zip(requests, ranked, strict=True)]
    found = [place for place in places if place is not None]
    return RankerScore(
        ranker=name,
        requests=len(requests),
        first=found.count(0),
        in_five=sum(place < 5 for place in found),
        ndcg=sum(1 / math.log2(place + 2) for place in found) / max(len(requests), 1),
    )


def _decay(
    skills: Sequence[SelectableSkill], requests: Sequence[BenchRequest], rankers: Mapping[str, MakeRanker],
    progress: Callable[[str], None],
) -> Iterator[DecayPoint]:  # fmt: skip
    chance = random.Random(_SEED)  # noqa: S311 - a sample, not a secret
    wanted = [skill for skill in skills if any(one.skill == skill.id for one in requests)]
    if not wanted:
        return
    for size in (*(size for size in _SIZES if size < len(skills)), len(skills)):
        progress(f"libraries of {plural(size, 'skill')}")
        found: defaultdict[str, list[bool]] = defaultdict(list)
        for _ in range(1 if size == len(skills) else _SUBSETS):
            # One skill that is asked for at least, so that there is something to find.
            kept = [chance.choice(wanted)]
            kept += chance.sample([skill for skill in skills if skill is not kept[0]], size - 1)
            ids = {skill.id for skill in kept}
            there = [one for one in requests if one.skill in ids]
            sample = chance.sample(there, min(len(there), _MOST_PER_POINT))
            for name, make in rankers.items():
                rank = make(kept)
                found[name] += [list(rank(one.text, 1)) == [one.skill] for one in sample]
        yield DecayPoint(size=size, first={name: sum(hits) / len(hits) for name, hits in found.items()})


def _confusions(winners: Iterable[tuple[BenchRequest, str]], names: Mapping[str, str]) -> tuple[Confusion, ...]:
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for one, winner in winners:
        if winner != one.skill:
            counts[one.skill, winner] += 1
            examples.setdefault((one.skill, winner), " ".join(one.text.split()))
    rows = (
        Confusion(skill=names[skill], rival=names[rival], requests=count, example=examples[skill, rival])
        for (skill, rival), count in counts.items()
    )
    return tuple(sorted(rows, key=lambda row: (-row.requests, row.skill, row.rival)))


def _black_holes(winners: Sequence[tuple[BenchRequest, str]], names: Mapping[str, str]) -> tuple[BlackHole, ...]:
    own = Counter(winner for one, winner in winners if winner == one.skill)
    taken: defaultdict[str, list[str]] = defaultdict(list)
    for one, winner in winners:
        if winner != one.skill:
            taken[winner].append(one.skill)
    rows = (
        BlackHole(skill=names[skill], taken=len(victims), victims=len(set(victims)), own=own[skill])
        for skill, victims in taken.items()
        if len(victims) >= _LEAST_TAKEN
    )
    return tuple(sorted(rows, key=lambda row: (-row.taken, row.skill)))


def _clean_up(
    skills: Sequence[SelectableSkill], requests: Sequence[BenchRequest], ranked: Sequence[Sequence[str]], make: MakeRanker,
    names: Mapping[str, str],
) -> CleanUp | None:  # fmt: skip
    chosen_on = [(one, ids) for one, ids in zip(requests, ranked, strict=True) if _is_even(one.text)]
    held_out = [(one, ids) for one, ids in zip(requests, ranked, strict=True) if not _is_even(one.text)]
    if min(len(chosen_on), len(held_out)) < _LEAST_FOR_CLEAN_UP:
        return None
    off: list[str] = []
    best = _found_without(chosen_on, off)
    while len(off) < _MOST_OFF:
        firsts = {next((id_ for id_ in ids if id_ not in off), "") for _, ids in chosen_on} - {""}
        gains = {skill: _found_without(chosen_on, [*off, skill]) - best for skill in sorted(firsts)}
        skill = max(gains, key=lambda id_: gains[id_], default="")
        if not skill or gains[skill] < _LEAST_TAKEN:
            break
        off.append(skill)
        best += gains[skill]
    if not off:
        return None
    rank = make([skill for skill in skills if skill.id not in off])
    return CleanUp(
        off=tuple(names[skill] for skill in off),
        tested=len(held_out),
        before=_found_without(held_out, ()),
        after=sum(list(rank(one.text, 1)) == [one.skill] for one, _ in held_out),
    )


def _found_without(rows: Sequence[tuple[BenchRequest, Sequence[str]]], off: Sequence[str]) -> int:
    return sum(next((id_ for id_ in ids if id_ not in off), "") == one.skill for one, ids in rows)


def _is_even(text: str) -> bool:
    return hashlib.sha256(text.encode()).digest()[0] % 2 == 0
