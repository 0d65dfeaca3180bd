"""A segment of the index: immutable arrays over a set of documents, built in one pass, saved, opened and merged.

An impact (the saturated, length-normalised weight of a term in a document) is stored as one byte, ready to add up. Lengths
are normalised by constants and not by the average of this library, so that a document weighs the same in a library of ten
and of ten thousand, and adding one does not change the others.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from enum import IntEnum
from typing import Any

import numpy as np

from metier.values import dataclass

from .arrays import Array
from .container import CorruptIndexError, pack, unpack
from .index_document import IndexDocument
from .tokenization import split_clauses, split_words, term_hash, word_terms
from .trained_data import TrainedData
from .translation import translate_document

__all__ = [
    "BODY", "FIELDS", "FIELD_B", "FIELD_LENGTH", "HEADINGS", "MAX_PHRASE_WORDS", "MAX_SHORT_ROWS", "NAME", "NEGATIVE",
    "PURPOSE", "PhraseKind", "Segment", "build_segment", "build_segments", "follower_bit", "merge_segments", "normal_words",
    "open_segment", "unpack_counts",
]  # fmt: skip

FORMAT = 6
FIELDS = ("name", "purpose", "negative", "headings", "body")
NAME, PURPOSE, NEGATIVE, HEADINGS, BODY = range(5)

# Weight, length normalisation and typical length in terms of each field; k1 = 1. Weights and normalisation were tuned on
# other queries of the same kind and rounded, with headings added by hand; they were not fitted to the dev queries. The
# lengths are about the means of the public skills that the word statistics come from.
FIELD_WEIGHT = np.array([5.0, 1.0, 0.0, 0.3, 0.25], dtype=np.float32)
FIELD_B = np.array([0.3, 0.1, 0.0, 0.3, 0.35], dtype=np.float32)
FIELD_LENGTH = np.array([2.6, 30.0, 5.0, 30.0, 350.0], dtype=np.float32)

# The counts of a term in a document share 16 bits; by field, the lowest bit and the highest count. One posting in 1,200 has
# a higher one, and the signals saturate before.
_COUNT_SHIFT = np.array([0, 2, 5, 7, 10], dtype=np.uint16)
_COUNT_LIMIT = np.array([3, 7, 3, 7, 63], dtype=np.uint16)
MAX_SHORT_ROWS = 1 << 16
"""Largest number of documents whose rows are stored in 16 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Rows are documents, in the given order."""

    vocabulary: Array
    """Hashes of the stems, sorted."""
    known: Array
    """Position of each stem in the trained vocabulary, or -1."""
    term_start: Array
    posting_row: Array
    """In 16 bits up to 65,536 documents."""
    posting_count: Array
    """Counts of the term by field; see `unpack_counts`."""
    posting_impact: Array
    posting_next: Array
    """The words that follow the term in the body, as bits (`follower_bit`)."""
    length: Array
    """Number of terms by document and field."""
    sequence_start: Array
    sequence_term: Array
    """Name and purpose as a run of terms, each an index into the vocabulary."""
    sequence_sentence: Array
    """Sentence of each term; 0 is the name."""
    sequence_clause: Array
    """Clause of each term, counted through all sentences; 0 is the name."""
    vector: Array
    """Two vectors per document: name with purpose, and body."""
    passage_start: Array
    passage: Array
    """The leading dimensions of a few vectors per document: parts of its body."""
    phrase_hash: Array
    phrase_row: Array
    phrase_kind: Array
    stamp: Array
    id_start: Array
    id_text: Array
    mark: Array
    """`TrainedData.mark` of the data that it was built with; `known` and `vector` are valid with that data only."""

    def __len__(self) -> int:
        return len(self.stamp)

    def to_bytes(self) -> bytes:
        return pack({field.name: getattr(self, field.name) for field in fields(self)}, version=FORMAT)

    def places(self, hashes: Array) -> Array:
        """Returns the position of each hash in the vocabulary, or -1."""
        if not len(self.vocabulary):
            return np.full(len(hashes), -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.vocabulary, hashes), len(self.vocabulary) - 1)
        return np.asarray(np.where(self.vocabulary[place] == hashes, place, -1))

    def ids(self) -> list[str]:
        text, starts = self.id_text.tobytes(), self.id_start.tolist()
        pairs = itertools.pairwise(starts)
        return [text[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairs]

    def id_at(self, row: int) -> str:
        text = self.id_text[self.id_start[row] : self.id_start[row + 1]].tobytes()
        return text.decode("utf-8", "surrogatepass")

    def row_of(self, skill_id: str) -> int | None:
        """Returns the row with this id. It compares all ids of that length, so it is for few ids at a time."""
        wanted = np.frombuffer(skill_id.encode("utf-8", "surrogatepass"), dtype=np.uint8)
        rows = np.flatnonzero(np.diff(self.id_start) == len(wanted))
        for place, byte in enumerate(wanted.tolist()):
            rows = rows[self.id_text[self.id_start[rows] + place] == byte]
        return int(rows[-1]) if len(rows) else None


def build_segment(documents: Sequence[IndexDocument], trained: TrainedData) -> Segment:
    collected = _collect(documents)
    vocabulary, keys, counts = _count(collected)
    row_of, term_of = np.divmod(keys, max(1, len(vocabulary)))
    lengths = _lengths(collected, len(documents))
    order = np.argsort(term_of, kind="stable")
    phrase_hash, phrase_row, phrase_kind = phrase_rows(documents)
    texts = [document.id.encode("utf-8", "surrogatepass") for document in documents]
    in_sequence, in_body = np.flatnonzero(collected.field <= PURPOSE), np.flatnonzero(collected.field == BODY)
    passages = trained.passage_vectors(vocabulary, collected.row[in_body], collected.term[in_body], len(documents))
    return Segment(
        vocabulary=vocabulary,
        known=trained.places(vocabulary).astype(np.int32),
        term_start=starts(np.bincount(term_of, minlength=len(vocabulary)), np.uint32),
        posting_row=row_of[order].astype(_row_type(len(documents))),
        posting_count=_pack_counts(counts[order]),
        posting_impact=_impacts(counts, lengths, row_of)[order],
        posting_next=_followers(collected, keys)[order],
        length=lengths,
        sequence_start=starts(np.bincount(collected.row[in_sequence], minlength=len(documents)), np.int32),
        sequence_term=collected.term[in_sequence].astype(np.int32),
        sequence_sentence=collected.sentence[in_sequence],
        sequence_clause=collected.clause[in_sequence],
        vector=trained.document_vectors(vocabulary, row_of, term_of, counts, len(documents)),
        passage_start=starts(passages.sizes, np.uint32),
        passage=passages.vectors,
        phrase_hash=phrase_hash,
        phrase_row=phrase_row,
        phrase_kind=phrase_kind,
        stamp=np.frombuffer(b"".join(document.stamp for document in documents), dtype="<u8"),
        id_start=starts(np.array([len(text) for text in texts], dtype=np.int64), np.int32),
        id_text=np.frombuffer(b"".join(texts), dtype=np.uint8),
        mark=np.array([trained.mark], dtype=np.uint32),
    )


def open_segment(buffer: Any, trained: TrainedData) -> Segment:
    """Returns views over `buffer`, without copying. Raises `CorruptIndexError` if `build_segment` did not write it."""
    arrays = unpack(buffer, version=FORMAT)
    if set(arrays) != {field.name for field in fields(Segment)}:
        raise CorruptIndexError("it has unexpected parts")
    segment = Segment(**arrays)
    postings, rows = len(segment.posting_row), len(segment)
    fits = (
        len(segment.term_start) == len(segment.vocabulary) + 1
        and segment.term_start[-1] == postings
        and len(segment.posting_count) == len(segment.posting_next) == postings
        and segment.length.shape == (rows, len(FIELDS))
        and len(segment.sequence_start) == len(segment.id_start) == len(segment.passage_start) == rows + 1
        and segment.vector.shape == (rows, 2, trained.dimensions)
        and segment.passage.shape == (segment.passage_start[-1], trained.short)
        and segment.mark.tolist() == [trained.mark]
    )
    if not fits:
        raise CorruptIndexError("its parts do not fit together, or it was built with other trained data")
    return segment


@dataclass(frozen=True, slots=True, kw_only=True)
class _Collected:
    """Every occurrence of every term, with its position."""

    vocabulary: Array
    term: Array
    row: Array
    field: Array
    sentence: Array
    clause: Array


class _Numbers(dict[str, int]):
    """Numbers the words in the order of their first lookup."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


def _collect(documents: Sequence[IndexDocument]) -> _Collected:
    written = _Numbers()
    number = written.__getitem__
    tokens = array("i")
    extents: list[tuple[int, int, int, int, int]] = []  # length, row, field, sentence, clause
    for row, document in enumerate(map(translate_document, documents)):
        pieces = [(document.name, NAME, 0, 0)]
        parts = [(part, place) for place, text in enumerate(document.purpose, 1) for part in split_clauses(text)]
        pieces += [(part, PURPOSE, min(place, 255), min(count, 255)) for count, (part, place) in enumerate(parts, 1)]
        pieces += [(document.negative, NEGATIVE, 0, 0), (document.headings, HEADINGS, 0, 0), (document.body, BODY, 0, 0)]
        for text, field, sentence, clause in pieces:
            if text:
                before = len(tokens)
                tokens.extend(map(number, split_words(text)))
                extents.append((len(tokens) - before, row, field, sentence, clause))
    return _expand(tokens, written, extents)


def _expand(tokens: array[int], written: Iterable[str], extents: list[tuple[int, int, int, int, int]]) -> _Collected:
    """Expands words to terms; a word may have none, one or several."""
    numbers: _Numbers = _Numbers()
    flat = array("i")
    sizes = array("i")
    for word in written:
        terms = word_terms(word)
        flat.extend(map(numbers.__getitem__, terms))
        sizes.append(len(terms))
    hashes = np.array([term_hash(term) for term in numbers], dtype=np.uint64)
    vocabulary, place = np.unique(hashes, return_inverse=True) if len(hashes) else (hashes, hashes.astype(np.int64))
    said, size = _numbers(tokens), _numbers(sizes)
    start = np.cumsum(size) - size
    per_token = size[said]
    within = np.arange(int(per_token.sum())) - np.repeat(np.cumsum(per_token) - per_token, per_token)
    terms_flat = place[_numbers(flat)]
    lengths = np.array([extent[0] for extent in extents], dtype=np.int64)
    columns = np.array([extent[1:] for extent in extents], dtype=np.int64).reshape(-1, 4)
    row, field, sentence, clause = (np.repeat(np.repeat(columns[:, i], lengths), per_token) for i in range(4))
    return _Collected(
        vocabulary=vocabulary,
        term=terms_flat[np.repeat(start[said], per_token) + within],
        row=row,
        field=field.astype(np.uint8),
        sentence=sentence.astype(np.uint8),
        clause=clause.astype(np.uint8),
    )


def _numbers(values: array[int]) -> Array:
    # numpy rejects an empty buffer.
    return np.frombuffer(values, dtype=np.int32) if values else np.zeros(0, dtype=np.int32)


def _count(collected: _Collected) -> tuple[Array, Array, Array]:
    """Returns each (row, term) once, with its counts by field, ordered by row and term."""
    size = max(1, len(collected.vocabulary))
    field_key = (collected.row * size + collected.term) * len(FIELDS) + collected.field
    field_key.sort()
    first = np.flatnonzero(np.diff(field_key, prepend=-1))
    amount = np.minimum(np.diff(np.append(first, len(field_key))), 255)
    pair, field = np.divmod(field_key[first], len(FIELDS))
    begins = np.diff(pair, prepend=-1) != 0
    counts = np.zeros((int(begins.sum()), len(FIELDS)), dtype=np.uint8)
    counts[np.cumsum(begins) - 1, field] = amount
    return collected.vocabulary, pair[begins], counts


def _followers(collected: _Collected, pairs: Array) -> Array:
    """Returns for each (row, term) the words that follow it in the body."""
    inside = np.flatnonzero(collected.field == BODY)
    row, term = collected.row[inside], collected.term[inside]
    bit = follower_bit(collected.vocabulary[term])
    key = ((row * max(1, len(collected.vocabulary)) + term)[:-1] << 5) + bit[1:]
    key = np.sort(key[row[:-1] == row[1:]])
    begins = np.flatnonzero(np.diff(key >> 5, prepend=-1))
    found = np.zeros(len(pairs), dtype=np.uint32)
    if len(begins):
        bits = np.uint32(1) << (key & 31).astype(np.uint32)
        found[np.searchsorted(pairs, key[begins] >> 5)] = np.bitwise_or.reduceat(bits, begins)
    return found


def follower_bit(hashes: Array) -> Array:
    """Returns the bit, of 32, for each word. One word in thirty is mistaken for another."""
    return (hashes & np.uint64(31)).astype(np.int64)


def _lengths(collected: _Collected, rows: int) -> Array:
    flat = np.bincount(collected.row * len(FIELDS) + collected.field, minlength=rows * len(FIELDS))
    return np.minimum(flat, 65_535).astype(np.uint16).reshape(rows, len(FIELDS))


def _pack_counts(counts: Array) -> Array:
    """Packs the counts of each posting, which stand in a row by field."""
    return np.asarray((np.minimum(counts, _COUNT_LIMIT) << _COUNT_SHIFT).sum(axis=1, dtype=np.uint16))


def unpack_counts(packed: Array) -> Array:
    """Returns the counts by posting and field."""
    return np.asarray((packed[:, None] >> _COUNT_SHIFT) & _COUNT_LIMIT)


def _row_type(rows: int) -> type[np.unsignedinteger[Any]]:
    return np.uint16 if rows <= MAX_SHORT_ROWS else np.uint32


def _impacts(counts: Array, lengths: Array, row_of: Array) -> Array:
    scale = FIELD_WEIGHT / (1 - FIELD_B + FIELD_B * lengths.astype(np.float32) / FIELD_LENGTH)
    weighted = np.einsum("pf,pf->p", counts.astype(np.float32), scale[row_of])
    return np.asarray(np.ceil(255 * weighted / (1 + weighted)), dtype=np.uint8)


def starts(sizes: Array, dtype: Any) -> Array:
    starts = np.zeros(len(sizes) + 1, dtype=dtype)
    np.cumsum(sizes, out=starts[1:])
    return starts


MAX_PHRASE_WORDS = 8
"""Maximum number of words in a phrase; a longer one is matched by its first eight."""


class PhraseKind(IntEnum):
    NAME = 0
    KEYWORD = 1
    VERB = 2
    PATTERN = 3
    """Not a phrase: marks the rows that have patterns."""


def normal_words(text: str) -> list[str]:
    return split_words(text.lower())


def phrase_rows(documents: Sequence[IndexDocument]) -> tuple[Array, Array, Array]:
    """Returns hash, row and kind of every phrase, sorted."""
    found: set[tuple[int, int, int]] = set()
    for row, document in enumerate(documents):
        triggers = document.triggers
        for kind, phrases in (
            (PhraseKind.NAME, (document.name,)),
            (PhraseKind.KEYWORD, triggers.keywords),
            (PhraseKind.VERB, triggers.verbs),
        ):
            for phrase in phrases:
                if parts := normal_words(phrase):
                    found.add((term_hash(" ".join(parts[:MAX_PHRASE_WORDS])), row, kind))
        if triggers.patterns:
            found.add((0, row, PhraseKind.PATTERN))
    ordered = sorted(found)
    hashes = np.array([entry[0] for entry in ordered], dtype=np.uint64)
    rows = np.array([entry[1] for entry in ordered], dtype=np.int32)
    return hashes, rows, np.array([entry[2] for entry in ordered], dtype=np.uint8)


_BUILD_BATCH = 2_000
"""Documents that are indexed together, which bounds the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One segment, and the new numbers of its live rows and terms."""

    segment: Segment
    keep: Array
    row: Array
    """New number of each row."""
    term: Array
    """New number of each stem."""
    posting: Array
    """Mask of the postings of live rows."""
    sequence: Array
    passage: Array
    phrase: Array

    @property
    def posting_term(self) -> Array:
        return np.repeat(self.term, np.diff(self.segment.term_start))[self.posting]


def build_segments(documents: Sequence[IndexDocument], trained: TrainedData) -> Segment:
    parts = [build_segment(documents[at : at + _BUILD_BATCH], trained) for at in range(0, max(1, len(documents)), _BUILD_BATCH)]
    return parts[0] if len(parts) == 1 else merge_segments(parts, [np.ones(len(part), dtype=bool) for part in parts])


def merge_segments(segments: Sequence[Segment], alive: Sequence[Array]) -> Segment:
    """Keeps the order of the rows, first segment first; drops stems that no live row uses."""
    vocabulary, parts = _plan_merge(segments, alive)
    term = _join(parts, lambda part: part.posting_term)
    row = _join(parts, lambda part: part.row[part.segment.posting_row[part.posting]])
    order = np.lexsort((row, term))
    phrase_hash = _join(parts, lambda part: part.segment.phrase_hash[part.phrase])
    phrase_row = _join(parts, lambda part: part.row[part.segment.phrase_row[part.phrase]])
    phrase_kind = _join(parts, lambda part: part.segment.phrase_kind[part.phrase])
    phrase_order = np.lexsort((phrase_kind, phrase_row, phrase_hash))
    known = np.full(len(vocabulary), -1, dtype=np.int32)
    for part in parts:
        used = part.term >= 0
        known[part.term[used]] = part.segment.known[used]
    ids = [known_id for part in parts for known_id, kept in zip(part.segment.ids(), part.keep, strict=True) if kept]
    texts = [one.encode("utf-8", "surrogatepass") for one in ids]
    sequence_term = _join(parts, lambda part: part.term[part.segment.sequence_term[part.sequence]])
    return Segment(
        vocabulary=vocabulary,
        known=known,
        term_start=starts(np.bincount(term, minlength=len(vocabulary)), np.uint32),
        posting_row=row[order].astype(_row_type(sum(int(part.keep.sum()) for part in parts))),
        posting_count=_join(parts, lambda part: part.segment.posting_count[part.posting])[order],
        posting_impact=_join(parts, lambda part: part.segment.posting_impact[part.posting])[order],
        posting_next=_join(parts, lambda part: part.segment.posting_next[part.posting])[order],
        length=_join(parts, lambda part: part.segment.length[part.keep]),
        sequence_start=starts(_join(parts, lambda part: np.diff(part.segment.sequence_start)[part.keep]), np.int32),
        sequence_term=sequence_term.astype(np.int32),
        sequence_sentence=_join(parts, lambda part: part.segment.sequence_sentence[part.sequence]),
        sequence_clause=_join(parts, lambda part: part.segment.sequence_clause[part.sequence]),
        vector=_join(parts, lambda part: part.segment.vector[part.keep]),
        passage_start=starts(_join(parts, lambda part: np.diff(part.segment.passage_start)[part.keep]), np.uint32),
        passage=_join(parts, lambda part: part.segment.passage[part.passage]),
        phrase_hash=phrase_hash[phrase_order],
        phrase_row=phrase_row[phrase_order].astype(np.int32),
        phrase_kind=phrase_kind[phrase_order],
        stamp=_join(parts, lambda part: part.segment.stamp[part.keep]),
        id_start=starts(np.array([len(text) for text in texts], dtype=np.int64), np.int32),
        id_text=np.frombuffer(b"".join(texts), dtype=np.uint8),
        mark=segments[0].mark,
    )


def _plan_merge(segments: Sequence[Segment], alive: Sequence[Array]) -> tuple[Array, list[_Part]]:
    """Returns the joint vocabulary, and the new numbers of each segment's rows and terms."""
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
            passage=np.repeat(keep, np.diff(segment.passage_start)),
            phrase=keep[segment.phrase_row],
        )
        parts.append(part)
        first += int(keep.sum())
    return everything[used], parts


def _join(parts: Sequence[_Part], column: Callable[[_Part], Array]) -> Array:
    return np.concatenate([column(part) for part in parts])
