"""The searchable index: one large segment that never changes, a small one of skills added since, and a mask of live rows.

Adding a skill rebuilds the small segment only; removing one clears its row in the mask. Both segments are merged when the
small one has grown.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from metier.values import dataclass, field

from .arrays import Array
from .candidate_texts import CandidateTexts, Words, read_texts
from .query import Query
from .segment import PhraseKind, Segment, unpack_counts
from .trained_data import PASSAGES, TrainedData

__all__ = ["Postings", "SkillIndex"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """The occurrences of a request's terms: one line per (term, document). A removed document has no impact."""

    term: Array
    row: Array
    impact: Array
    frequency: Array
    """Number of live documents that contain each term."""
    spans: tuple[tuple[int, Segment, int, int, int], ...]
    """The runs of lines: term, segment, its first row, begin and end."""
    starts: Array
    """The first line of each run."""

    def counts_and_followers(self, lines: Array) -> tuple[Array, Array]:
        """Returns for some lines the counts by field, and which words follow the term in the body."""
        run = np.searchsorted(self.starts, lines, side="right") - 1
        begins = np.array([span[3] for span in self.spans], dtype=np.int64)
        place = (begins - self.starts)[run] + lines
        segments = {id(span[1]): span[1] for span in self.spans}
        if len(segments) == 1:
            [segment] = segments.values()
            return unpack_counts(segment.posting_count.take(place)), segment.posting_next.take(place)
        counts, followers = np.zeros(len(lines), dtype=np.uint16), np.zeros(len(lines), dtype=np.uint32)
        owner = np.array([id(span[1]) for span in self.spans])[run]
        for number, segment in segments.items():
            mine = owner == number
            counts[mine], followers[mine] = segment.posting_count[place[mine]], segment.posting_next[place[mine]]
        return unpack_counts(counts), followers


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillIndex:
    segments: tuple[Segment, ...]
    alive: Array
    """Mask of the live rows, over all segments."""
    live_count: int
    _whole: list[tuple[TrainedData, CandidateTexts]] = field(init=False, default_factory=list, repr=False, compare=False)

    def whole(self, trained: TrainedData) -> CandidateTexts:
        """Returns all live rows, read once. For small libraries."""
        if not self._whole or self._whole[0][0] is not trained:
            # One assignment of a complete pair, because several threads may select at once.
            self._whole[:] = [(trained, read_texts(self, np.flatnonzero(self.alive), trained))]
        return self._whole[0][1]

    def offsets(self) -> Iterator[tuple[Segment, int]]:
        first = 0
        for segment in self.segments:
            yield segment, first
            first += len(segment)

    @property
    def has_triggers(self) -> bool:
        return any(bool((segment.phrase_kind != PhraseKind.NAME).any()) for segment in self.segments)

    def phrase_rows(self, phrase: int, kind: PhraseKind) -> list[int]:
        """Returns the live rows with this phrase, given as its hash."""
        found: list[int] = []
        wanted = np.uint64(phrase)
        for segment, first in self.offsets():
            begin = np.searchsorted(segment.phrase_hash, wanted, "left")
            end = np.searchsorted(segment.phrase_hash, wanted, "right")
            rows = segment.phrase_row[begin:end][segment.phrase_kind[begin:end] == kind]
            found += [int(row) + first for row in rows if self.alive[row + first]]
        return found

    def has_any(self, hashes: Array) -> bool:
        """Returns True if one of these terms occurs."""
        return any(bool((segment.places(hashes) >= 0).any()) for segment in self.segments)

    def postings(self, query: Query) -> Postings:
        spans: list[tuple[int, Segment, int, int, int]] = []
        for segment, first in self.offsets():
            place = segment.places(query.hashes)
            found = np.flatnonzero(place >= 0)
            begins, ends = segment.term_start[place[found]].tolist(), segment.term_start[place[found] + 1].tolist()
            spans += [(t, segment, first, begin, end) for t, begin, end in zip(found.tolist(), begins, ends, strict=True)]
        sizes = np.array([span[4] - span[3] for span in spans], dtype=np.int64)
        none = np.zeros(0, dtype=np.int64)
        term = np.repeat([span[0] for span in spans], sizes) if spans else none
        rows = [np.add(segment.posting_row[begin:end], first, dtype=np.int64) for _, segment, first, begin, end in spans]
        row = np.concatenate(rows) if spans else none
        impact = np.concatenate([segment.posting_impact[begin:end] for _, segment, _, begin, end in spans]) if spans else none
        if self.live_count < len(self.alive):
            is_live = self.alive[row]
            impact = impact * is_live
            frequency = np.bincount(term[is_live], minlength=len(query))
        else:
            frequency = np.bincount(term, minlength=len(query))
        return Postings(
            term=term,
            row=row,
            impact=impact,
            frequency=frequency,
            spans=tuple(spans),
            starts=np.cumsum(sizes) - sizes,
        )

    def lengths(self, rows: Array) -> Array:
        return self._by_row("length", rows)

    def vectors(self, rows: Array) -> Array:
        return self._by_row("vector", rows)

    def passages(self, rows: Array) -> Array:
        """Returns as many passages of each row as a document may have; those that it does not have are zeros."""
        width = self.segments[0].passage.shape[1]
        out = np.zeros((len(rows), PASSAGES, width), dtype=np.int8)
        for segment, first in self.offsets():
            mine = np.flatnonzero((rows >= first) & (rows < first + len(segment)))
            begins = segment.passage_start[rows[mine] - first].astype(np.int64)
            sizes = segment.passage_start[rows[mine] - first + 1] - begins
            within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            out[np.repeat(mine, sizes), within] = segment.passage.take(within + np.repeat(begins, sizes), axis=0)
        return out

    def words(self, rows: Array) -> Words:
        """Returns the words of name and description of these rows, one row after the other."""
        parts: list[tuple[Array, ...]] = []
        before = 0
        for segment, first in self.offsets():
            mine = np.flatnonzero((rows >= first) & (rows < first + len(segment)))
            begins = segment.sequence_start[rows[mine] - first].astype(np.int64)
            sizes = segment.sequence_start[rows[mine] - first + 1] - begins
            place = np.arange(int(sizes.sum())) + np.repeat(begins - (np.cumsum(sizes) - sizes), sizes)
            terms = segment.sequence_term.take(place)
            parts.append(
                (
                    terms + before,
                    segment.known.take(terms),
                    np.repeat(mine, sizes),
                    segment.sequence_sentence.take(place),
                    segment.sequence_clause.take(place),
                )
            )
            before += len(segment.vocabulary)
        found = parts[0] if len(parts) == 1 else [np.concatenate(column) for column in zip(*parts, strict=True)]
        if len(parts) > 1:
            order = np.argsort(found[2], kind="stable")
            found = [column[order] for column in found]
        term, known, owner, sentence, clause = found
        return Words(term=term, known=known, owner=owner, sentence=sentence, clause=clause)

    def query_terms(self, query: Query) -> Array:
        """Returns for each stem of all segments the number of the request's term, or -1."""
        parts = [_query_terms(segment, query) for segment in self.segments]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _by_row(self, field: str, rows: Array) -> Array:
        parts = [getattr(segment, field) for segment in self.segments]
        if len(parts) == 1:
            return np.asarray(parts[0].take(rows, axis=0))
        out = np.zeros((len(rows), *parts[0].shape[1:]), dtype=parts[0].dtype)
        for (_, first), part in zip(self.offsets(), parts, strict=True):
            mine = (rows >= first) & (rows < first + len(part))
            out[mine] = part[rows[mine] - first]
        return out


def _query_terms(segment: Segment, query: Query) -> Array:
    """Returns for each stem of the segment the number of the request's term, or -1."""
    numbers = np.full(len(segment.vocabulary), -1, dtype=np.int16)
    place = segment.places(query.hashes)
    found = np.flatnonzero(place >= 0)
    numbers[place[found]] = found
    return numbers
