"""Some rows of the index with everything about them that does not depend on the request.

In a small library every skill is a candidate of every request, so this is computed once; see `SkillIndex.whole`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from metier.values import dataclass

from .arrays import Array, starts_of, unit
from .segment import FIELD_B, FIELD_LENGTH
from .trained_data import TrainedData

__all__ = ["CandidateTexts", "Runs", "Words", "read_texts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Names and descriptions word by word, one line per word."""

    term: Array
    """Index into the vocabularies of all segments, one after the other."""
    known: Array
    """Position in the trained vocabulary, or -1."""
    owner: Array
    sentence: Array
    """0 is the name."""
    clause: Array
    """0 is the name; counted through the sentences."""


class Rows(Protocol):
    """The part of a `SkillIndex` that is read here."""

    def words(self, rows: Array) -> Words: ...
    def lengths(self, rows: Array) -> Array: ...
    def vectors(self, rows: Array) -> Array: ...
    def passages(self, rows: Array) -> Array: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """The sentences, or the clauses, of all candidates in a row."""

    number: Array
    """The run of each word."""
    owner: Array
    purpose: Array
    """True for a part of the description, False for the name."""
    total: Array
    """Total rarity of the words of each run."""
    begins: Array
    """The first run of each candidate that has any; `of` are these candidates."""
    of: Array

    def most(self, values: Array, size: int) -> Array:
        """Returns the best value of each candidate's description."""
        found = np.zeros(size, dtype=np.float32)
        found[self.of] = np.maximum.reduceat(values * self.purpose, self.begins)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateTexts:
    rows: Array
    words: Words
    rarity: Array
    """Of each word."""
    sentences: Runs
    clauses: Runs
    name_total: Array
    """Total rarity of each candidate's name; `all_total`: of name and description."""
    all_total: Array
    begins: Array
    """The first word of each candidate that has any; `of` are these candidates."""
    of: Array
    places: Array
    """The different words, as positions in the trained vocabulary; `column` tells for each word which of them it is."""
    column: Array
    lengths: Array
    """By candidate and field; `scale` divides counts by field, term and candidate."""
    scale: Array
    stored: Array
    """Unit vectors, two for each candidate: front and body."""
    passages: Array


def read_texts(library: Rows, rows: Array, trained: TrainedData) -> CandidateTexts:
    words, size = library.words(rows), len(rows)
    rarity = trained.rarity(words.known)
    sentences, clauses = (_runs(words.owner, column, rarity) for column in (words.sentence, words.clause))
    used = np.zeros(len(trained.vocabulary) + 1, dtype=bool)  # The last is for unknown words.
    used[words.known] = True
    places = np.flatnonzero(used)
    column = np.empty(len(used), dtype=np.int32)
    column[places] = np.arange(len(places))
    begins = starts_of(words.owner) if len(words.owner) else np.zeros(0, dtype=np.int64)
    lengths = library.lengths(rows).astype(np.float32)
    return CandidateTexts(
        rows=rows,
        words=words,
        rarity=rarity,
        sentences=sentences,
        clauses=clauses,
        name_total=np.bincount(sentences.owner, sentences.total * ~sentences.purpose, size),
        all_total=np.bincount(sentences.owner, sentences.total, size),
        begins=begins,
        of=words.owner.take(begins),
        places=places,
        column=column.take(words.known),
        lengths=lengths,
        scale=(1 / (1 - FIELD_B + FIELD_B * lengths / FIELD_LENGTH)).T[:, None],
        stored=unit(library.vectors(rows).reshape(-1, trained.dimensions)),
        passages=unit(library.passages(rows).reshape(-1, trained.short)),
    )


def _runs(owner: Array, column: Array, rarity: Array) -> Runs:
    """`column` separates the runs; the words are ordered by owner, sentence and clause."""
    if not len(owner):
        none = np.zeros(0, dtype=np.int64)
        return Runs(number=none, owner=none, purpose=none > 0, total=none.astype(np.float32), begins=none, of=none)
    begins = starts_of(owner, column)
    number = np.zeros(len(owner), dtype=np.int64)
    number[begins[1:]] = 1
    owners = owner.take(begins)
    first = starts_of(owners)
    return Runs(
        number=np.cumsum(number),
        owner=owners,
        purpose=column.take(begins) > 0,
        total=np.add.reduceat(rarity, begins),
        begins=first,
        of=owners.take(first),
    )
