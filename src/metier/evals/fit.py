"""Proposals that make a library fit the list of skills of another agent.

The measure is recall: the part of the requests for which the local ranker puts the expected skill first, when it sees no more
of each skill than the agent shows its model. The requests are those of the skills' own trigger evals, and those in transcripts
after which the skill was loaded. A proposal never lowers it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

from metier.hosts import HostListing, HostSkill
from metier.selection import Selector
from metier.values import dataclass, replace

from .intervals import wilson_interval

__all__ = ["FitPlan", "ShorterDescription", "propose_fit", "shorter_description"]

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_USE = re.compile(r"\buse (?:this )?(?:skill )?(?:when|for|if|before|after|to)\b", re.IGNORECASE)
_LEAST_CHARACTERS = 80
_STEPS = 4

Render = Callable[[Sequence[HostSkill]], HostListing]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShorterDescription:
    skill: HostSkill
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FitPlan:
    before: HostListing
    after: HostListing
    off: tuple[HostSkill, ...]
    """Skills to switch off for this agent; those without requests come first."""
    shorter: tuple[ShorterDescription, ...]
    requests: int
    found_before: int
    """Requests for which the ranker finds the skill in the list as it is."""
    found_after: int
    """The same after the skills in `off` are switched off and the descriptions in `shorter` written."""

    @property
    def is_cut(self) -> bool:
        return _cuts(self.before)

    @property
    def intervals(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The 95 % intervals of the recall before and after."""
        return wilson_interval(self.found_before, self.requests), wilson_interval(self.found_after, self.requests)


def propose_fit(
    skills: Sequence[HostSkill], requests: Mapping[str, Sequence[str]], render: Render, *,
    may_shorten: Callable[[HostSkill], bool] = lambda _: False, most_description: int = 0,
) -> FitPlan:  # fmt: skip
    """Proposes the fewest skills to switch off for the highest recall. `requests` are those of each skill's SKILL.md.

    Without any request nothing is switched off, because nothing would show the loss.
    """
    before = render(skills)
    found = _found(before, requests)
    asked = sum(map(len, requests.values()))
    off = _to_switch_off(skills, requests, render, found) if asked and _cuts(before) else ()
    kept = _without(skills, off)
    after = render(kept)
    shorter = _shorter(kept, after, may_shorten, most_description)
    best = _found(after, requests)
    if shorter:
        texts = {one.skill.file: one.text for one in shorter}
        tried = render([replace(skill, description=texts.get(skill.file, skill.description)) for skill in kept])
        found_then = _found(tried, requests)
        if found_then >= best:
            after, best = tried, found_then
        else:
            shorter = ()
    return FitPlan(
        before=before, after=after, off=off, shorter=shorter, requests=asked, found_before=found, found_after=best
    )  # fmt: skip


def shorter_description(text: str, most: int) -> str | None:
    """Returns whole sentences of the description in at most this many characters: the first, and the one that says when.

    None if that is not possible, or not shorter.
    """
    sentences = [part for part in _SENTENCE.split(" ".join(text.split())) if part]
    wanted = [0, *(place for place, part in enumerate(sentences) if place and _USE.search(part))][:2]
    chosen: list[int] = []
    for place in [*wanted, *(place for place in range(len(sentences)) if place not in wanted)]:
        if sum(len(sentences[each]) + 1 for each in [*chosen, place]) - 1 <= most:
            chosen.append(place)
    if not set(wanted) <= set(chosen) or len(chosen) == len(sentences):
        return None
    return " ".join(sentences[place] for place in sorted(chosen))


def _to_switch_off(
    skills: Sequence[HostSkill], requests: Mapping[str, Sequence[str]], render: Render, found: int
) -> tuple[HostSkill, ...]:
    candidates = sorted(
        (skill for skill in skills if not skill.hidden),
        key=lambda skill: (len(requests.get(skill.file, ())), skill.use, -len(skill.description)),
    )
    enough = bisect_left(
        range(len(candidates)), True, key=lambda count: not _cuts(render(_without(skills, candidates[:count])))
    )
    best: tuple[int, int] = (found, 0)
    for count in sorted({enough * step // _STEPS for step in range(1, _STEPS + 1)} - {0}):
        now = _found(render(_without(skills, candidates[:count])), requests)
        if now > best[0]:
            best = (now, count)
    return tuple(candidates[: best[1]])


def _without(skills: Sequence[HostSkill], gone: Sequence[HostSkill]) -> list[HostSkill]:
    files = {skill.file for skill in gone}
    return [skill for skill in skills if skill.file not in files]


def _cuts(listing: HostListing) -> bool:
    return bool(listing.shortened or listing.named or listing.left_out)


def _found(listing: HostListing, requests: Mapping[str, Sequence[str]]) -> int:
    """Counts the requests for which the ranker puts the expected skill first, of what the model sees."""
    shown = [_Shown(one.skill.file, one.skill.name, one.shown) for one in listing.listed if not one.skill.own]
    if not shown:
        return 0
    selector = Selector(shown)
    picked = ((file, selector.select(text).selected) for file, texts in requests.items() for text in texts)
    return sum(bool(matches) and matches[0].id == file for file, matches in picked)


class _Shown:
    """A skill with what the model sees of it."""

    __slots__ = ("description", "id", "name")

    def __init__(self, file: str, name: str, description: str) -> None:
        self.id, self.name, self.description = file, name, description


def _shorter(
    skills: Sequence[HostSkill], listing: HostListing, may_shorten: Callable[[HostSkill], bool], most_description: int
) -> tuple[ShorterDescription, ...]:
    cut = {*listing.shortened, *listing.named, *(skill.name for skill in listing.left_out)}
    if not cut:
        return ()
    in_characters = listing.limit * (4 if listing.unit == "tokens" else 1)
    free = most_description or max(in_characters // max(len(skills), 1) - 30, _LEAST_CHARACTERS)
    proposals = (
        ShorterDescription(skill=skill, text=text)
        for skill in skills
        if skill.name in cut and may_shorten(skill) and (text := shorter_description(skill.description, free))
    )
    return tuple(proposals)
