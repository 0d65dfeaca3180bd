"""Several segments made one: what an index built from all their living documents at once would be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .container import Array
from .index_document import IndexDocument
from .segment import Segment, build_segment, starts
from .trained_data import TrainedData

__all__ = ["build_segments", "merge_segments"]

_AT_ONCE = 2_000
"""Documents indexed together: bounds the memory that building needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One segment and where its living rows and terms go."""

    segment: Segment
    keep: Array
    row: Array
    """New number of each row."""
    term: Array
    """New number of each stem."""
    posting: Array
    """Postings of living rows."""
    sequence: Array
    phrase: Array

    @property
    def posting_term(self) -> Array:
        return np.repeat(self.term, np.diff(self.segment.term_start))[self.posting]


def build_segments(documents: Sequence[IndexDocument], trained: TrainedData) -> Segment:
    parts = [build_segment(documents[at : at + _AT_ONCE], trained) for at in range(0, max(1, len(documents)), _AT_ONCE)]
    return parts[0] if len(parts) == 1 else merge_segments(parts, [np.ones(len(part), dtype=bool) for part in parts])


def merge_segments(segments: Sequence[Segment], alive: Sequence[Array]) -> Segment:
    """Rows keep their order, first segment first; stems that no living row uses are dropped."""
    vocabulary, parts = _planned(segments, alive)
    term = _joined(parts, lambda part: part.posting_term)
    row = _joined(parts, lambda part: part.row[part.segment.posting_row[part.posting]])
    order = np.lexsort((row, term))
    phrase_hash = _joined(parts, lambda part: part.segment.phrase_hash[part.phrase])
    phrase_row = _joined(parts, lambda part: part.row[part.segment.phrase_row[part.phrase]])
    phrase_kind = _joined(parts, lambda part: part.segment.phrase_kind[part.phrase])
    phrase_order = np.lexsort((phrase_kind, phrase_row, phrase_hash))
    known = np.full(len(vocabulary), -1, dtype=np.int32)
    for part in parts:
        used = part.term >= 0
        known[part.term[used]] = part.segment.known[used]
    ids = [known_id for part in parts for known_id, kept in zip(part.segment.ids(), part.keep, strict=True) if kept]
    texts = [one.encode("utf-8", "surrogatepass") for one in ids]
    sequence_term = _joined(parts, lambda part: part.term[part.segment.sequence_term[part.sequence]])
    return Segment(
        vocabulary=vocabulary,
        known=known,
        term_start=starts(np.bincount(term, minlength=len(vocabulary)), np.int64),
        posting_row=row[order].astype(np.int32),
        posting_count=_joined(parts, lambda part: part.segment.posting_count[part.posting])[order],
        posting_impact=_joined(parts, lambda part: part.segment.posting_impact[part.posting])[order],
        posting_next=_joined(parts, lambda part: part.segment.posting_next[part.posting])[order],
        length=_joined(parts, lambda part: part.segment.length[part.keep]),
        sequence_start=starts(_joined(parts, lambda part: np.diff(part.segment.sequence_start)[part.keep]), np.int32),
        sequence_term=sequence_term.astype(np.int32),
        sequence_sentence=_joined(parts, lambda part: part.segment.sequence_sentence[part.sequence]),
        sequence_clause=_joined(parts, lambda part: part.segment.sequence_clause[part.sequence]),
        vector=_joined(parts, lambda part: part.segment.vector[part.keep]),
        passage=_joined(parts, lambda part: part.segment.passage[part.keep]),
        phrase_hash=phrase_hash[phrase_order],
        phrase_row=phrase_row[phrase_order].astype(np.int32),
        phrase_kind=phrase_kind[phrase_order],
        stamp=_joined(parts, lambda part: part.segment.stamp[part.keep]),
        id_start=starts(np.array([len(text) for text in texts], dtype=np.int64), np.int32),
        id_text=np.frombuffer(b"".join(texts), dtype=np.uint8),
        mark=segments[0].mark,
    )


def _planned(segments: Sequence[Segment], alive: Sequence[Array]) -> tuple[Array, list[_Part]]:
    """The joint vocabulary, and where everything of each segment goes in the new one."""
    everything = np.unique(np.concatenate([segment.vocabulary for segment in segments]))
    used = np.zeros(len(everything), dtype=bool)
    for segment, keep in zip(segments, alive, strict=True):
        owner = np.repeat(np.arange(len(segment.vocabulary)), np.diff(segment.term_start))
        used[np.searchsorted(everything, segment.vocabulary[np.unique(owner[keep[segment.posting_row]])])] = True
    number = np.where(used, np.cumsum(used) - 1, -1)
    parts: list[_Part] = []
    first = 0
    for segment, keep in zip(segments, alive, strict=True):
        part = _Part(
            segment=segment,
            keep=keep,
            row=np.cumsum(keep) - 1 + first,
            term=number[np.searchsorted(everything, segment.vocabulary)],
            posting=keep[segment.posting_row],
            sequence=np.repeat(keep, np.diff(segment.sequence_start)),
            phrase=keep[segment.phrase_row],
        )
        parts.append(part)
        first += int(keep.sum())
    return everything[used], parts


def _joined(parts: Sequence[_Part], column: Callable[[_Part], Array]) -> Array:
    return np.concatenate([column(part) for part in parts])
