"""`Selector`: a library of skills that can be asked, changed and saved.

It keeps the index in two parts, one that was opened or built at once and one of what came since, so that a change
costs what the change is worth. It holds no file and no clock: whoever saves `index_bytes()` decides where and when.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from .embeddings import SkillEmbeddings
from .index_document import IndexDocument, SelectableSkill, Triggers, read_skill, read_triggers, stamp_of
from .match import Match, MatchDecision, Selection
from .merging import build_segments, merge_segments
from .query import Query, read_query
from .ranker import RankedCandidates, add_similarity, rank
from .reason import reason
from .segment import Segment, open_segment
from .skill_index import SkillIndex
from .trained_data import TrainedData, load_trained_data
from .trigger_matches import TriggerMatch, find_trigger_matches
from .weights import SelectorOptions

__all__ = ["Selector"]

_NAMED = 5.0
"""Log-odds of a skill that was asked for by name: 99 in 100."""
_MERGE_ABOVE = 256
"""New skills that are kept apart at least; then a quarter of the large part."""


class Selector:
    """Not safe for threads that change it; asking from several threads is fine."""

    def __init__(
        self,
        skills: Iterable[SelectableSkill] = (),
        *,
        weights: SelectorOptions | None = None,
        trained: TrainedData | None = None,
        embeddings: SkillEmbeddings | None = None,
    ) -> None:
        self.weights = weights or SelectorOptions()
        self._trained = trained or load_trained_data()
        self._embeddings = embeddings
        self._segments: list[Segment] = []
        self._skills: list[SelectableSkill] = []
        self._alive: list[bool] = []
        self._row: dict[str, int] = {}
        self._new: list[IndexDocument] = []
        self._known: SkillIndex | None = None
        for skill in skills:
            self.change(skill)

    @classmethod
    def from_buffer(
        cls,
        buffer: Any,
        skills: Iterable[SelectableSkill],
        *,
        weights: SelectorOptions | None = None,
        trained: TrainedData | None = None,
        embeddings: SkillEmbeddings | None = None,
    ) -> Selector:
        """Open what `index_bytes` gave, without copying it; `buffer` may be bytes or an mmap.

        Skills that are not in it, or say something else than when it was made, are indexed now; what it holds of
        skills that are gone is ignored. Raises `CorruptIndexError`.
        """
        made = cls(weights=weights, trained=trained, embeddings=embeddings)
        segment = open_segment(buffer, made._trained)
        places = {known: row for row, known in enumerate(segment.ids())}
        stamps = segment.stamp.astype("<u8").tobytes()
        given = list(skills)
        blank: SelectableSkill = _Gone()
        made._segments, made._skills, made._alive = [segment], [blank] * len(segment), [False] * len(segment)
        for skill in given:
            row = places.get(skill.id, -1)
            if row >= 0 and stamps[row * 8 : row * 8 + 8] == stamp_of(skill):
                made._skills[row], made._alive[row], made._row[skill.id] = skill, True, row
            else:
                made.change(skill)
        return made

    def __len__(self) -> int:
        return len(self._row)

    @property
    def is_changed(self) -> bool:
        """Does it differ from the buffer it was opened from, so that saving it is worth while?"""
        return bool(self._new) or len(self._segments) != 1 or not all(self._alive)

    def __contains__(self, skill_id: object) -> bool:
        return skill_id in self._row

    def add(self, skill: SelectableSkill) -> None:
        if skill.id in self._row:
            raise ValueError(f"a skill with the id {skill.id!r} is already here; use change()")
        self.change(skill)

    def change(self, skill: SelectableSkill) -> None:
        """Put in the skill, in place of the one with its id if there is one."""
        document = read_skill(skill)
        self._forget(document.id)
        self._row[document.id] = len(self._skills)
        self._skills.append(skill)
        self._alive.append(True)
        self._new.append(document)
        self._known = None

    def remove(self, skill_id: str) -> None:
        if skill_id not in self._row:
            raise KeyError(skill_id)
        self._forget(skill_id)
        self._known = None

    def index_bytes(self) -> bytes:
        """The whole index, as one segment of the live skills."""
        self._library()
        self._compact()
        return self._segments[0].to_bytes()

    def select(self, query: str, limit: int | None = None, *, recent: Iterable[str] = ()) -> Selection:
        """The skills for a request, best first.

        With a `limit`, the best so many however well they fit, each with its decision. Without, only those worth
        activating, at most `max_skills`. `recent` are ids used earlier in this session.
        """
        library = self._library()
        asked = read_query(query)
        recent_rows = [self._row[used] for used in recent if used in self._row]
        called = find_trigger_matches(query, library, self._triggers, self.weights, recent_rows)
        count = self.weights.max_skills if limit is None else max(0, limit)
        further = min(self.weights.further, max(0, count - self.weights.candidates))
        ranked = rank(asked, library, self._trained, limit=self.weights.candidates, also=called, further=further)
        if self._embeddings:
            nearness = self._embeddings.nearness(query, [self._skills[row] for row in ranked.evidence.rows])
            if nearness is not None:
                ranked = add_similarity(ranked, nearness, self.weights.meaning)
        places = self._ordered(ranked, called)[: count + self.weights.rejected]
        near = self._matches(asked, ranked, places, called)
        if further:
            near += self._further(ranked, near)
        worth = near if limit is not None else [match for match in near if match.decision is MatchDecision.ACTIVATE]
        taken = worth[:count]
        chosen = {id(match) for match in taken}
        rejected = [match for match in near if id(match) not in chosen][: self.weights.rejected]
        return Selection(selected=tuple(taken), rejected=tuple(rejected), considered=len(self))

    def _ordered(self, ranked: RankedCandidates, called: dict[int, TriggerMatch]) -> list[int]:
        """Places of the candidates, best first: named, then whole phrases, then by score; ties by id."""
        order = np.argsort(-ranked.odds, kind="stable")
        if not called and not (np.diff(ranked.odds.take(order)) == 0).any():
            return [int(place) for place in order]
        rows, odds = ranked.evidence.rows.tolist(), ranked.odds.tolist()
        nobody = TriggerMatch()

        def key(place: int) -> tuple[bool, bool, float, str]:
            call = called.get(rows[place], nobody)
            return (not call.named, not call.whole_phrase, -_raised(odds[place], call), self._skills[rows[place]].id)

        return sorted(range(len(rows)), key=key)

    def _matches(
        self, query: Query, ranked: RankedCandidates, places: list[int], called: dict[int, TriggerMatch]
    ) -> list[Match]:
        found = []
        for place, fits, sure in zip(places, *(odds.tolist() for odds in ranked.verdicts(places)), strict=True):
            row = int(ranked.evidence.rows[place])
            call = called.get(row) or TriggerMatch()
            fit = _probability(_raised(fits, call))
            match = Match(
                skill=self._skills[row],
                score=_probability(_raised(float(ranked.odds[place]), call)),
                fit=fit,
                confidence=_probability(_raised(sure, call)),
                decision=self._decide(fit),
                told=partial(reason, query, ranked.evidence, place, call),
                explained=partial(ranked.shares, place),
            )
            found.append(match)
        return found

    def _further(self, ranked: RankedCandidates, before: list[Match]) -> list[Match]:
        """Those that were only counted: each a little behind the last that was looked at."""
        last = before[-1].score if before else 0.0
        size = len(ranked.evidence.further)
        return [
            Match(
                skill=self._skills[row],
                score=round(last * (1 - (place + 1) / (size + 1)), 6),
                fit=0.0,
                confidence=0.0,
                decision=MatchDecision.NOTHING,
                told=_shared,
            )
            for place, row in enumerate(ranked.evidence.further.tolist())
        ]

    def _decide(self, fit: float) -> MatchDecision:
        if fit >= self.weights.activate:
            return MatchDecision.ACTIVATE
        return MatchDecision.SUGGEST if fit >= self.weights.suggest else MatchDecision.NOTHING

    def _triggers(self, row: int) -> Triggers:
        return read_triggers(self._skills[row])

    def _forget(self, skill_id: str) -> None:
        row = self._row.pop(skill_id, None)
        if row is not None:
            self._alive[row] = False

    def _library(self) -> SkillIndex:
        if self._known is None:
            self._index_new()
            self._known = SkillIndex(
                segments=tuple(self._segments), alive=np.array(self._alive, dtype=bool), live_count=len(self._row)
            )
        return self._known

    def _index_new(self) -> None:
        """Put what came since into the small part; make one of both when that has grown."""
        if self._new or not self._segments:
            self._segments.append(build_segments(self._new, self._trained))
            self._new = []
        if len(self._segments) > 2:
            small = self._segments[1:]
            everyone = [np.ones(len(segment), dtype=bool) for segment in small]
            self._segments = [self._segments[0], merge_segments(small, everyone)]
        if len(self._segments) == 2 and len(self._segments[1]) > max(_MERGE_ABOVE, len(self._segments[0]) // 4):
            self._compact()

    def _compact(self) -> None:
        if len(self._segments) == 1 and all(self._alive):
            return
        keep = np.array(self._alive, dtype=bool)
        bounds = np.cumsum([0, *(len(segment) for segment in self._segments)])
        parts = [keep[begin:end] for begin, end in itertools.pairwise(bounds)]
        self._segments = [merge_segments(self._segments, parts)]
        self._skills = [skill for skill, alive in zip(self._skills, self._alive, strict=True) if alive]
        self._alive = [True] * len(self._skills)
        self._row = {skill.id: row for row, skill in enumerate(self._skills)}
        self._known = None


class _Gone:
    """Stands where the index holds a skill that the caller no longer has."""

    id = name = description = ""


def _shared() -> str:
    return "shares some words"


def _raised(odds: float, call: TriggerMatch) -> float:
    """Log-odds after the triggers have spoken: the doubt that is left is multiplied by theirs.

    In log-odds, because two good candidates would both round to 1.0 and lose their order.
    """
    odds += call.bonus
    if call.named:
        return max(_NAMED, odds)
    if call.doubt >= 1:
        return odds
    return float(np.logaddexp(math.log1p(-call.doubt), odds)) - math.log(call.doubt)


def _probability(odds: float) -> float:
    return round(1 / (1 + math.exp(-max(-30.0, min(30.0, odds)))), 6)
