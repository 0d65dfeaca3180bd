"""`Selector`: ranks a library of skills for a request. Skills can be added and removed, and the index can be saved.

The index has two segments, one that was built or opened at once and one of skills added since, so that a change costs
little. The selector opens no file: the caller saves `index_bytes()` and opens it again with `from_buffer`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from metier.errors import MetierError
from metier.spec import Triggers
from metier.values import replace

from .embeddings import SkillEmbeddings
from .index_document import IndexDocument, SelectableSkill, read_skill, read_triggers, stamp_of
from .match import Match, MatchDecision, Selection, SelectorOptions
from .query import Query, read_own_words, read_query
from .ranker import RankedCandidates, add_similarity, rank
from .recall import AvailableSkill, Recall, search_words
from .request_parts import open_parts
from .segment import (
    BODY,
    HEADINGS,
    MAX_PHRASE_WORDS,
    NAME,
    NEGATIVE,
    PURPOSE,
    PhraseKind,
    Segment,
    build_segments,
    merge_segments,
    normal_words,
    open_segment,
)
from .signals import Evidence
from .skill_index import SkillIndex
from .skill_rows import FindSkill, SkillRows
from .tokenization import term_hash
from .trained_data import TrainedData, load_trained_data
from .trigger_matches import TriggerMatch, find_trigger_matches

__all__ = ["Selector"]

_NAMED = 5.0
"""Log-odds of a skill that the request names: 99 %."""
_OWN_FIT = 0.6
"""Fit from which a match by the words of another language counts; below, translated words say more."""
_MERGE_SIZE = 256
"""Size of the small segment above which both are merged, or a quarter of the large segment if that is more."""
_FIELD_LABELS = ((NAME, "name"), (PURPOSE, "description"), (HEADINGS, "headings"), (BODY, "body"))
_CORRECTED = ("you unloaded it before", "you asked for it before")
_PART_CANDIDATES = 20
"""Candidates for a part of a request."""
_MAX_PHRASES = 4
"""Phrases per field in a reason."""
_RECALLED_FROM = 10_000
"""Recalled candidates are ranked as in a library of this size: they are the best of a large one, where their words are rare."""


class Selector:
    """`select` is thread-safe; `add`, `change` and `remove` are not."""

    def __init__(
        self,
        skills: Iterable[SelectableSkill] = (),
        *,
        options: SelectorOptions | None = None,
        trained: TrainedData | None = None,
        embeddings: SkillEmbeddings | None = None,
        recall: Recall | None = None,
    ) -> None:
        self.options = options or SelectorOptions()
        self.recall = recall
        """Finds skills that are not installed; see `Selection.available`."""
        self._trained = trained or load_trained_data()
        self._embeddings = embeddings
        self._segments: list[Segment] = []
        self._rows = SkillRows()
        self._new: list[IndexDocument] = []
        self._known: SkillIndex | None = None
        for skill in skills:
            self.change(skill)

    @classmethod
    def from_buffer(
        cls,
        buffer: Any,
        skills: Iterable[SelectableSkill] | FindSkill,
        *,
        options: SelectorOptions | None = None,
        trained: TrainedData | None = None,
        embeddings: SkillEmbeddings | None = None,
        recall: Recall | None = None,
    ) -> Selector:
        """Opens what `index_bytes` returned, without copying it; `buffer` may be bytes or an mmap.

        Skills that are missing in it or have changed since are indexed now; rows of other skills are ignored. Instead of
        skills, a function may return the skill with an id: then all rows count as they were indexed, and a library of any
        size opens at once. Raises `CorruptIndexError` if the buffer cannot be used.
        """
        made = cls(options=options, trained=trained, embeddings=embeddings, recall=recall)
        segment = open_segment(buffer, made._trained)
        made._segments = [segment]
        if callable(skills):
            made._rows = SkillRows(segment, skills)
            return made
        made._rows = SkillRows(segment)
        places = {known: row for row, known in enumerate(segment.ids())}
        stamps = segment.stamp.astype("<u8").tobytes()
        for skill in skills:
            row = places.get(skill.id, -1)
            if row >= 0 and stamps[row * 8 : row * 8 + 8] == stamp_of(skill):
                made._rows.set(row, skill)
            else:
                made.change(skill)
        return made

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def is_changed(self) -> bool:
        """Returns True if it differs from the buffer that it was opened from, so that it should be saved."""
        return bool(self._new) or len(self._segments) != 1 or not self._rows.all_live

    def __contains__(self, skill_id: object) -> bool:
        return isinstance(skill_id, str) and self._rows.find(skill_id) is not None

    def add(self, skill: SelectableSkill) -> None:
        if skill.id in self:
            raise ValueError(f"the selector already has a skill with the id {skill.id!r}; use change()")
        self.change(skill)

    def change(self, skill: SelectableSkill) -> None:
        """Adds the skill, or replaces the one with the same id."""
        document = read_skill(skill)
        self._rows.remove(document.id)
        self._rows.append(skill)
        self._new.append(document)
        self._known = None

    def remove(self, skill_id: str) -> None:
        if not self._rows.remove(skill_id):
            raise KeyError(skill_id)
        self._known = None

    def index_bytes(self) -> bytes:
        """Returns the index of all live skills as one segment."""
        self._library()
        self._compact()
        return self._segments[0].to_bytes()

    def select(
        self, query: str, limit: int | None = None, *, recent: Iterable[str] = (), prior: Mapping[str, float] | None = None
    ) -> Selection:
        """Returns the skills for a request, best first.

        With a `limit`: that many, however well they fit, each with its decision. Without: only those to activate, at most
        `options.max_skills`: the best one, and others that the request names or asks for in a part of its own. `recent` are
        the ids of skills used earlier in this session, the latest last; `prior` has log-odds by id, from corrections.
        """
        library = self._library()
        terms = read_query(query)
        recent_rows = [row for used in recent if (row := self._rows.find(used)) is not None]
        triggered = find_trigger_matches(query, library, self._triggers, self.options, recent_rows)
        count = self.options.max_skills if limit is None else max(0, limit)
        further = min(self.options.further, max(0, count - self.options.candidates))
        ranked = rank(terms, library, self._trained, limit=self.options.candidates, also=triggered, further=further)
        for row, odds in self._prior_rows(ranked, prior or {}):
            triggered.setdefault(row, TriggerMatch()).add_bonus(odds, _CORRECTED[odds > 0])
        if self._embeddings:
            similarity = self._embeddings.similarity(
                terms.text, [self._rows.skill(row) for row in ranked.evidence.rows.tolist()]
            )
            if similarity is not None:
                ranked = add_similarity(ranked, similarity, self.options.similarity)
        places = self._order(ranked, triggered)[: count + self.options.rejected]
        near = self._matches(terms, ranked, places, triggered)
        if terms.own_words and library.has_any(terms.own_hashes()):
            # A skill in the language of the request is found by its own words too.
            own = read_own_words(terms)
            ranked_own = rank(own, library, self._trained, limit=self.options.candidates, also=triggered)
            places = self._order(ranked_own, triggered)[: count + self.options.rejected]
            near = _join_readings(near, self._matches(own, ranked_own, places, triggered))
        near = self._decided(terms, ranked, near, triggered)
        if further:
            near += self._further(ranked, near)
        worth = near if limit is not None else [match for match in near if match.decision is MatchDecision.ACTIVATE]
        taken = worth[:count]
        chosen = {id(match) for match in taken}
        rejected = [match for match in near if id(match) not in chosen][: self.options.rejected]
        selection = Selection(selected=tuple(taken), rejected=tuple(rejected), considered=len(self))
        is_covered = any(match.decision is MatchDecision.ACTIVATE for match in taken)
        if self.recall is None or (is_covered and not self.options.always_recall):
            return selection
        return self._with_available(selection, self.recall, query, limit)

    def _with_available(self, selection: Selection, recall: Recall, query: str, limit: int | None) -> Selection:
        """Adds the skills that are not installed: the best `limit`, or those that are worth a mention."""
        words = search_words(query, self._trained)
        if not words:
            return selection
        try:
            found = recall(words, self.options.candidates)
        except MetierError as error:
            return replace(selection, note=f"{error}; only installed skills were searched")
        names = {skill.name: skill for skill in reversed(found)}
        offered = [skill for skill in names.values() if not self._has_name(skill.name)]
        ranked = _rank_recalled(offered, query, self.options, self._trained)
        if limit is None:
            worth = (match for match in ranked if match.decision is not MatchDecision.NOTHING)
            return replace(selection, available=tuple(worth)[: self.options.max_skills])
        return replace(selection, available=tuple(ranked[: max(0, limit)]))

    def _has_name(self, name: str) -> bool:
        phrase = term_hash(" ".join(normal_words(name)[:MAX_PHRASE_WORDS]))
        return any(self._rows.skill(row).name == name for row in self._library().phrase_rows(phrase, PhraseKind.NAME))

    def _prior_rows(self, ranked: RankedCandidates, prior: Mapping[str, float]) -> list[tuple[int, float]]:
        """Returns the candidates with a prior. It makes no skill a candidate."""
        rows = {row: odds for known, odds in prior.items() if (row := self._rows.find(known)) is not None}
        there = set(ranked.evidence.rows.tolist()) if rows else set()
        return [(row, odds) for row, odds in rows.items() if row in there]

    def _order(self, ranked: RankedCandidates, triggered: dict[int, TriggerMatch]) -> list[int]:
        """Returns the candidates' positions, best first: named, whole phrases, score, recent use, id."""
        order = np.argsort(-ranked.odds, kind="stable")
        if not triggered and not (np.diff(ranked.odds.take(order)) == 0).any():
            return [int(place) for place in order]
        rows, odds = ranked.evidence.rows.tolist(), ranked.odds.tolist()
        untriggered = TriggerMatch()

        def key(place: int) -> tuple[bool, bool, float, int, str]:
            trigger = triggered.get(rows[place], untriggered)
            raised = _raise_odds(odds[place], trigger)
            return (not trigger.named, not trigger.whole_phrase, -raised, -trigger.recent, self._rows.skill(rows[place]).id)

        return sorted(range(len(rows)), key=key)

    def _matches(
        self, query: Query, ranked: RankedCandidates, places: list[int], triggered: dict[int, TriggerMatch]
    ) -> list[Match]:
        found = []
        for place, fit_odds, confidence_odds in zip(
            places, *(odds.tolist() for odds in ranked.fit_and_confidence(places)), strict=True
        ):
            row = int(ranked.evidence.rows[place])
            trigger = triggered.get(row) or TriggerMatch()
            fit = _probability(_raise_odds(fit_odds, trigger))
            match = Match(
                skill=self._rows.skill(row),
                score=_probability(_raise_odds(float(ranked.odds[place]), trigger)),
                fit=fit,
                confidence=_probability(_raise_odds(confidence_odds, trigger)),
                decision=self._decide(fit),
                find_reason=partial(_reason, query, ranked.evidence, place, trigger),
                find_shares=partial(ranked.shares, place),
            )
            found.append(match)
        return found

    def _decided(
        self, query: Query, ranked: RankedCandidates, matches: list[Match], triggered: dict[int, TriggerMatch]
    ) -> list[Match]:
        """Activates the best match that fits and those that the request calls; the others that fit are suggestions."""
        fitting = [match for match in matches if match.decision is MatchDecision.ACTIVATE]
        if not fitting:
            return matches
        taken = {match.id for match in fitting if (trigger := triggered.get(self._row_of(match))) and trigger.is_call}
        taken = taken or {fitting[0].id}
        apart: dict[str, float] = {}
        # No place for a skill that only the own words of a request in another language find.
        for place in np.flatnonzero(ranked.evidence.rows == self._row_of(fitting[0])).tolist():
            for part in open_parts(query, ranked.evidence.matched[:, place], ranked.evidence.weights):
                apart |= self._asked_apart(part, fitting[0].id)
        decided = []
        for match in matches:
            if match.id in apart and match.id not in taken:
                match = replace(match, decision=MatchDecision.ACTIVATE, fit=max(match.fit, apart[match.id]))
            elif match.decision is MatchDecision.ACTIVATE and match.id not in taken:
                match = replace(match, decision=MatchDecision.SUGGEST)
            decided.append(match)
        return decided

    def _asked_apart(self, part: str, first: str) -> dict[str, float]:
        """Returns the skill that a part of the request would activate alone, and its fit, if `first` does not fit that part."""
        terms = read_query(part)
        ranked = rank(terms, self._library(), self._trained, limit=_PART_CANDIDATES)
        found = self._matches(terms, ranked, self._order(ranked, {})[:_PART_CANDIDATES], {})
        fits = {match.id: match.fit for match in found}
        if found and found[0].fit >= self.options.activate and fits.get(first, 0.0) < self.options.suggest:
            return {found[0].id: found[0].fit}
        return {}

    def _further(self, ranked: RankedCandidates, before: list[Match]) -> list[Match]:
        """Returns matches for rows that were ranked by words alone, with scores below the last full match."""
        last = before[-1].score if before else 0.0
        size = len(ranked.evidence.further)
        return [
            Match(
                skill=self._rows.skill(row),
                score=round(last * (1 - (place + 1) / (size + 1)), 6),
                fit=0.0,
                confidence=0.0,
                decision=MatchDecision.NOTHING,
                find_reason=_shared_words,
            )
            for place, row in enumerate(ranked.evidence.further.tolist())
        ]

    def _decide(self, fit: float) -> MatchDecision:
        if fit >= self.options.activate:
            return MatchDecision.ACTIVATE
        return MatchDecision.SUGGEST if fit >= self.options.suggest else MatchDecision.NOTHING

    def _triggers(self, row: int) -> Triggers:
        return read_triggers(self._rows.skill(row))

    def _row_of(self, match: Match) -> int:
        row = self._rows.find(match.id)
        return -1 if row is None else row

    def _library(self) -> SkillIndex:
        if self._known is None:
            self._index_new()
            live_count = len(self._rows)
            if self._rows.all_live:
                live_count = max(live_count, self.options.library_size)
            self._known = SkillIndex(segments=tuple(self._segments), alive=self._rows.live, live_count=live_count)
        return self._known

    def _index_new(self) -> None:
        """Indexes the new skills in the small segment; merges both segments if that has grown."""
        if self._new or not self._segments:
            self._segments.append(build_segments(self._new, self._trained))
            self._new = []
        if len(self._segments) > 2:
            small = self._segments[1:]
            self._segments = [
                self._segments[0],
                merge_segments(small, [np.ones(len(segment), dtype=bool) for segment in small]),
            ]
        if len(self._segments) == 2 and len(self._segments[1]) > max(_MERGE_SIZE, len(self._segments[0]) // 4):
            self._compact()

    def _compact(self) -> None:
        if len(self._segments) == 1 and self._rows.all_live:
            return
        keep = self._rows.live
        bounds = np.cumsum([0, *(len(segment) for segment in self._segments)])
        parts = [keep[begin:end] for begin, end in itertools.pairwise(bounds)]
        self._segments = [merge_segments(self._segments, parts)]
        self._rows = self._rows.compact(self._segments[0])
        self._known = None


def _rank_recalled(
    skills: Sequence[AvailableSkill], query: str, options: SelectorOptions, trained: TrainedData
) -> tuple[Match, ...]:
    """Ranks skills as if they were all of a large library that have a word of the request."""
    if not skills:
        return ()
    alone = replace(options, library_size=_RECALLED_FROM)
    return Selector(skills, options=alone, trained=trained).select(query, len(skills)).selected


def _join_readings(translated: list[Match], own: list[Match]) -> list[Match]:
    """Joins the matches of both readings of a request, best first; those by its own words only if they fit well."""
    best = {match.id: match for match in translated}
    for match in own:
        known = best.get(match.id)
        if match.fit >= _OWN_FIT and (known is None or match.score > known.score):
            best[match.id] = match
    return sorted(best.values(), key=lambda match: -match.score)


def _shared_words() -> str:
    return "shares some words"


def _raise_odds(odds: float, trigger: TriggerMatch) -> float:
    """Raises the log-odds by the triggers: the remaining doubt is multiplied by theirs.

    Works in log-odds, because two good candidates would both round to 1.0 and lose their order.
    """
    odds += trigger.bonus
    if trigger.named:
        return max(_NAMED, odds)
    if trigger.doubt >= 1:
        return odds
    return float(np.logaddexp(math.log1p(-trigger.doubt), odds)) - math.log(trigger.doubt)


def _probability(odds: float) -> float:
    return round(1 / (1 + math.exp(-max(-30.0, min(30.0, odds)))), 6)


def _reason(query: Query, evidence: Evidence, place: int, trigger: TriggerMatch) -> str:
    """Explains a match in the words of the request."""
    parts = list(dict.fromkeys(trigger.reasons))
    bits = [(number, bit) for number, bit in enumerate(evidence.matched[:, place].tolist()) if bit]
    weights = evidence.weights.tolist()
    explained: set[int] = set()
    for field, label in _FIELD_LABELS:
        terms = [number for number, bit in bits if bit >> field & 1 and number not in explained]
        if terms:
            explained.update(terms)
            parts.append(f"{label}: {_phrases(query, weights, terms)}")
    against = [number for number, bit in bits if bit == 1 << NEGATIVE]
    if against:
        parts.append(f"but it says not for: {_phrases(query, weights, against)}")
    if not parts:
        parts.append("similar in meaning")
    return "; ".join(parts)


def _phrases(query: Query, weights: list[float], terms: list[int]) -> str:
    """Returns the terms as the request wrote them, by weight, with adjacent words joined."""
    runs: list[list[int]] = []
    for number in terms:
        if runs and runs[-1][-1] + 1 == number and query.follows[runs[-1][-1], number]:
            runs[-1].append(number)
        else:
            runs.append([number])
    if len(runs) > 1:
        runs.sort(key=lambda run: -sum(weights[number] for number in run))
    phrases = [" ".join(query.written[number] for number in run) for run in runs[:_MAX_PHRASES]]
    more = f" and {len(runs) - _MAX_PHRASES} more" if len(runs) > _MAX_PHRASES else ""
    return ", ".join(f"'{phrase}'" for phrase in phrases) + more
