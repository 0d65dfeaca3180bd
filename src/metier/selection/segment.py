"""The index proper: immutable arrays over a set of documents, built in one pass, saved, opened.

An impact (the saturated, length-normalised weight of a word in a document) is stored ready to add up, as one byte.
Lengths are normalised by typical lengths that ship as constants, not by this library's average: so a document
weighs the same in a library of ten and of ten thousand, and adding one never touches the others.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .container import Array, CorruptIndexError, pack, unpack
from .index_document import IndexDocument
from .phrases import phrase_rows
from .tokenization import split_clauses, term_hash, word_terms, words
from .trained_data import PASSAGES, TrainedData

__all__ = [
    "BODY", "FIELDS", "HEADINGS", "NAME", "NEGATIVE", "PURPOSE", "Segment", "build_segment", "follower_bit", "open_segment",
    "starts",
]  # fmt: skip

FORMAT = 4
FIELDS = ("name", "purpose", "negative", "headings", "body")
NAME, PURPOSE, NEGATIVE, HEADINGS, BODY = range(5)

# A field's weight, its length normalisation and its typical length in terms; k1 = 1. Weights and normalisation follow
# a tuning on other queries of the same kind, rounded, with headings added by hand; they were not fitted to the dev queries.
# The lengths are about the means of the public skills that the word statistics come from.
FIELD_WEIGHT = np.array([5.0, 1.0, 0.0, 0.3, 0.25], dtype=np.float32)
FIELD_B = np.array([0.3, 0.1, 0.0, 0.3, 0.35], dtype=np.float32)
FIELD_LENGTH = np.array([2.6, 30.0, 5.0, 30.0, 350.0], dtype=np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Rows are documents, in the order they were given."""

    vocabulary: Array
    """Hashes of the stems, sorted."""
    known: Array
    """Each stem's place in the trained vocabulary, or -1."""
    term_start: Array
    posting_row: Array
    posting_count: Array
    """How often the term stands in each field, at most 255."""
    posting_impact: Array
    posting_next: Array
    """The words right behind the term in the body, as bits (`follower_bit`)."""
    length: Array
    """Terms by document and field."""
    sequence_start: Array
    sequence_term: Array
    """Name and purpose as a run of terms, each an index into the vocabulary."""
    sequence_sentence: Array
    """The sentence of each; 0 is the name."""
    sequence_clause: Array
    """The clause of each, counted through all sentences; 0 is the name."""
    vector: Array
    """Two rows of trained dimensions a document: name with purpose, and body."""
    passage: Array
    """A few rows of the leading dimensions a document: parts of its body."""
    phrase_hash: Array
    phrase_row: Array
    phrase_kind: Array
    stamp: Array
    id_start: Array
    id_text: Array
    mark: Array
    """Of the trained data that it was built with: `known` and `vector` mean nothing beside any other."""

    def __len__(self) -> int:
        return len(self.stamp)

    def to_bytes(self) -> bytes:
        return pack({field.name: getattr(self, field.name) for field in fields(self)}, version=FORMAT)

    def ids(self) -> list[str]:
        text, starts = self.id_text.tobytes(), self.id_start.tolist()
        pairs = itertools.pairwise(starts)
        return [text[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairs]


def build_segment(documents: Sequence[IndexDocument], trained: TrainedData) -> Segment:
    collected = _collect(documents)
    vocabulary, keys, counts = _count(collected)
    row_of, term_of = np.divmod(keys, max(1, len(vocabulary)))
    lengths = _lengths(collected, len(documents))
    order = np.argsort(term_of, kind="stable")
    term_start = np.zeros(len(vocabulary) + 1, dtype=np.int64)
    np.cumsum(np.bincount(term_of, minlength=len(vocabulary)), out=term_start[1:])
    phrase_hash, phrase_row, phrase_kind = phrase_rows(documents)
    texts = [document.id.encode("utf-8", "surrogatepass") for document in documents]
    in_sequence, in_body = np.flatnonzero(collected.field <= PURPOSE), np.flatnonzero(collected.field == BODY)
    return Segment(
        vocabulary=vocabulary,
        known=trained.places(vocabulary).astype(np.int32),
        term_start=term_start,
        posting_row=row_of[order].astype(np.int32),
        posting_count=counts[order],
        posting_impact=_impacts(counts, lengths, row_of)[order],
        posting_next=_followers(collected, keys)[order],
        length=lengths,
        sequence_start=starts(np.bincount(collected.row[in_sequence], minlength=len(documents)), np.int32),
        sequence_term=collected.term[in_sequence].astype(np.int32),
        sequence_sentence=collected.sentence[in_sequence],
        sequence_clause=collected.clause[in_sequence],
        vector=trained.document_vectors(vocabulary, row_of, term_of, counts, len(documents)),
        passage=trained.passage_vectors(vocabulary, collected.row[in_body], collected.term[in_body], len(documents)),
        phrase_hash=phrase_hash,
        phrase_row=phrase_row,
        phrase_kind=phrase_kind,
        stamp=np.frombuffer(b"".join(document.stamp for document in documents), dtype="<u8"),
        id_start=starts(np.array([len(text) for text in texts], dtype=np.int64), np.int32),
        id_text=np.frombuffer(b"".join(texts), dtype=np.uint8),
        mark=np.array([trained.mark], dtype=np.uint32),
    )


def open_segment(buffer: Any, trained: TrainedData) -> Segment:
    """Zero-copy views over `buffer`; raises `CorruptIndexError` when they could not be what `build` wrote."""
    arrays = unpack(buffer, version=FORMAT)
    if set(arrays) != {field.name for field in fields(Segment)}:
        raise CorruptIndexError("its parts are not the ones expected")
    segment = Segment(**arrays)
    postings, rows = len(segment.posting_row), len(segment)
    fits = (
        len(segment.term_start) == len(segment.vocabulary) + 1
        and segment.term_start[-1] == postings
        and segment.posting_count.shape == (postings, len(FIELDS))
        and len(segment.posting_next) == postings
        and segment.length.shape == (rows, len(FIELDS))
        and len(segment.sequence_start) == len(segment.id_start) == rows + 1
        and segment.vector.shape == (rows, 2, trained.dimensions)
        and segment.passage.shape == (rows, PASSAGES, trained.short)
        and segment.mark.tolist() == [trained.mark]
    )
    if not fits:
        raise CorruptIndexError("its parts do not fit together, or it was made with other trained data")
    return segment


@dataclass(frozen=True, slots=True, kw_only=True)
class _Collected:
    """Every term occurrence of every document: which term, where."""

    vocabulary: Array
    term: Array
    row: Array
    field: Array
    sentence: Array
    clause: Array


class _Written(dict[str, int]):
    """Numbers the words as they come; a missing word costs one call, a known one none."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


def _collect(documents: Sequence[IndexDocument]) -> _Collected:
    written = _Written()
    number = written.__getitem__
    tokens = array("i")
    extents: list[tuple[int, int, int, int, int]] = []  # length, row, field, sentence, clause
    for row, document in enumerate(documents):
        pieces = [(document.name, NAME, 0, 0)]
        parts = [(part, place) for place, text in enumerate(document.purpose, 1) for part in split_clauses(text)]
        pieces += [(part, PURPOSE, min(place, 255), min(count, 255)) for count, (part, place) in enumerate(parts, 1)]
        pieces += [(document.negative, NEGATIVE, 0, 0), (document.headings, HEADINGS, 0, 0), (document.body, BODY, 0, 0)]
        for text, field, sentence, clause in pieces:
            if text:
                before = len(tokens)
                tokens.extend(map(number, words(text)))
                extents.append((len(tokens) - before, row, field, sentence, clause))
    return _expanded(tokens, written, extents)


def _expanded(tokens: array[int], written: Iterable[str], extents: list[tuple[int, int, int, int, int]]) -> _Collected:
    """From written words to terms, where a word may stand for none, one or several."""
    numbers: _Written = _Written()
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
    # An empty buffer is an error to numpy.
    return np.frombuffer(values, dtype=np.int32) if values else np.zeros(0, dtype=np.int32)


def _count(collected: _Collected) -> tuple[Array, Array, Array]:
    """Each (row, term) once, with its count by field, in order of row and term."""
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
    """For each (row, term), what stands right behind it in the body."""
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
    """Which of 32 bits stands for a word; a word in thirty is taken for another."""
    return (hashes & np.uint64(31)).astype(np.int64)


def _lengths(collected: _Collected, rows: int) -> Array:
    flat = np.bincount(collected.row * len(FIELDS) + collected.field, minlength=rows * len(FIELDS))
    return np.minimum(flat, 65_535).astype(np.uint16).reshape(rows, len(FIELDS))


def _impacts(counts: Array, lengths: Array, row_of: Array) -> Array:
    scale = FIELD_WEIGHT / (1 - FIELD_B + FIELD_B * lengths.astype(np.float32) / FIELD_LENGTH)
    weighted = np.einsum("pf,pf->p", counts.astype(np.float32), scale[row_of])
    return np.asarray(np.ceil(255 * weighted / (1 + weighted)), dtype=np.uint8)


def starts(sizes: Array, dtype: Any) -> Array:
    starts = np.zeros(len(sizes) + 1, dtype=dtype)
    np.cumsum(sizes, out=starts[1:])
    return starts
