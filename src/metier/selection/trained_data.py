"""What was learnt beforehand and ships with the package: word statistics, word vectors, the re-ranking network.

Statistics and weights only, no sentence of anybody's skill. It is read on first use,
because most programs that import metier never rank anything.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any

import numpy as np

from .arrays import product, unit
from .container import Array, unpack
from .network import Network, read_network

__all__ = ["FEW_SKILLS", "TRAINED_FORMAT", "TrainedData", "load_trained_data", "parse_trained_data"]

TRAINED_FORMAT = 5
NETWORKS = ("salience", "many", "few", "fit", "sure")
FEW_SKILLS = 1_500
"""Skills in the largest library that counts as small."""
_SHORT = 64
"""Dimensions that two words, and passages, are compared in. The axes are ordered, so the first hold most."""
_BODY_TERMS = 96
"""A body's vector is made of its weightiest terms: the rest pulls every long document to the same middle."""

PASSAGES = 8
_PASSAGE = 60
"""Passages of a body that have a vector of their own, and the least words of each where there is more than one."""
_AT_ONCE = 1 << 14


@dataclass(frozen=True, kw_only=True)
class TrainedData:
    vocabulary: Array
    """Hashes of the stems known beforehand, sorted."""
    frequency: Array
    """Background documents that hold each stem."""
    documents: int
    in_front: Array
    """Background documents that hold each stem in name or description, and in the name."""
    in_name: Array
    importance: Array
    """Learnt weight of each stem in a vector."""
    vectors: Array
    """One signed byte a dimension."""
    networks: Mapping[str, Network]
    """"salience" weighs the words of a request; "many" and "few" order the candidates of a large and of a small library;
    "fit" decides whether one is worth activating; "sure" is for the confidence."""
    ease: float = 0.0
    """Log-odds by which less fit is enough, for each tenfold of a large library."""

    @cached_property
    def mark(self) -> int:
        """Tells one training run from another; every run ends with other importances."""
        return zlib.crc32(self.importance.tobytes(), zlib.crc32(self.vocabulary.tobytes()))

    @cached_property
    def topical(self) -> Array:
        """How readily a stem goes into a description, when it is in the skill at all."""
        return np.log((self.in_front + 0.5) / (self.frequency + 1.0)).astype(np.float32)

    @cached_property
    def naming(self) -> Array:
        return np.log((self.in_name + 0.5) / (self.in_front + 1.0)).astype(np.float32)

    @cached_property
    def strength(self) -> Array:
        return np.asarray(self.importance * _lengths(self.vectors) / 10, dtype=np.float32)

    @property
    def dimensions(self) -> int:
        return int(self.vectors.shape[1])

    @property
    def short(self) -> int:
        """Leading dimensions, where all would cost too much."""
        return min(_SHORT, self.dimensions)

    def order(self, live_count: int) -> Network:
        """Among few skills the question is which topic; among thousands, which of a dozen on the same topic."""
        return self.networks["few" if live_count <= FEW_SKILLS else "many"]

    def places(self, hashes: Array) -> Array:
        """Where each hash stands in the vocabulary, or -1."""
        if not len(self.vocabulary):
            return np.full(len(hashes), -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.vocabulary, hashes), len(self.vocabulary) - 1)
        return np.asarray(np.where(self.vocabulary[place] == hashes, place, -1))

    def rarity(self, places: Array) -> Array:
        """Background idf by place; -1, a word never seen, is the rarest of all."""
        return np.asarray(self._rarity[places])

    @cached_property
    def _rarity(self) -> Array:
        frequency = np.append(self.frequency, 0.5)
        return np.log1p((self.documents + 0.5) / (frequency + 0.5)).astype(np.float32)

    def text_vectors(self, hashes: Array, counts: Array) -> Array:
        """The unit vectors of texts given by their terms, one a row of `counts`; zeros when none is known."""
        place = self.places(hashes)
        known = np.flatnonzero(place >= 0)
        place = place.take(known)
        weights = self.importance.take(place) * _saturated(counts.take(known, axis=1))
        return unit(product(weights, self.vectors.take(place, axis=0).astype(np.float32)))

    def nearness(self, places: Array, others: Array) -> Array:
        """Cosines of the words at `places` (rows) and at `others` (columns); nothing is near a place of -1."""
        short, scale = self._short
        left = short.take(places, axis=0).astype(np.float32)
        left *= scale.take(places)[:, None]
        right = short.take(others, axis=0) * scale.take(others)[:, None]
        return product(left, right.T)

    def beside(self, texts: Array, places: Array) -> Array:
        """Cosines of unit vectors of texts (rows) and of the words at `places` (columns)."""
        wide = unit(self.vectors.take(places, axis=0))
        wide[places < 0] = 0
        return product(texts, wide.T)

    @cached_property
    def _short(self) -> tuple[Array, Array]:
        """The leading dimensions of each word, and what brings them to length one; the last row, which -1 means, is zeros."""
        short = np.zeros((len(self.vectors) + 1, self.short), dtype=np.int8)
        short[:-1] = self.vectors[:, : self.short]
        return short, 1 / np.maximum(_lengths(short), np.float32(1e-6))

    def document_vectors(self, vocabulary: Array, row: Array, term: Array, counts: Array, rows: int) -> Array:
        """Two vectors a document, in signed bytes; the postings come in order of row."""
        out = np.zeros((rows, 2, self.dimensions), dtype=np.int8)
        if not self.dimensions:
            return out
        place = self.places(vocabulary)[term]
        wide = counts.astype(np.float32)
        importance = np.where(place >= 0, self.importance[place], 0)
        front = importance * _saturated(2 * wide[:, 0] + wide[:, 1])
        back = importance * _saturated(wide[:, 3] + wide[:, 4])
        starts = np.searchsorted(row, np.arange(rows + 1))
        for number in range(rows):
            span = slice(starts[number], starts[number + 1])
            for side, weights in enumerate((front[span], back[span])):
                used = np.flatnonzero(weights > 0)
                if len(used) > _BODY_TERMS:
                    used = np.sort(used[np.argsort(-weights[used], kind="stable")[:_BODY_TERMS]])
                vector = weights[used] @ self.vectors[place[span][used]].astype(np.float32)
                out[number, side] = _in_bytes(vector)
        return out

    def passage_vectors(self, vocabulary: Array, row: Array, term: Array, rows: int) -> Array:
        """The leading dimensions of a few vectors a body, in signed bytes; the words come as written, in order of row."""
        out = np.zeros((rows * PASSAGES, self.short), dtype=np.int8)
        place = self.places(vocabulary)[term]
        row, place = row[place >= 0], place[place >= 0]
        size = np.bincount(row, minlength=rows)
        within = np.arange(len(row)) - (np.cumsum(size) - size)[row]
        many = np.clip(-(-size // _PASSAGE), 1, PASSAGES)
        passage = row * PASSAGES + within * many[row] // size[row]
        key, counts = np.unique(passage * len(self.vocabulary) + place, return_counts=True)
        passage, place = np.divmod(key, len(self.vocabulary))
        weights = self.importance[place] * _saturated(counts)
        begins = np.flatnonzero(np.diff(passage, prepend=-1))
        # A few thousand words at a time: all at once would need gigabytes.
        for some in np.split(begins, np.arange(_AT_ONCE // _PASSAGE, len(begins), _AT_ONCE // _PASSAGE)):
            if len(some):
                end = begins[np.searchsorted(begins, some[-1]) + 1] if some[-1] != begins[-1] else len(passage)
                span = slice(some[0], end)
                wide = self.vectors[place[span], : self.short] * weights[span, None]
                sums = np.add.reduceat(wide, some - some[0], axis=0)
                peak = np.maximum(np.abs(sums).max(axis=1, keepdims=True), 1e-9)
                out[passage[some]] = np.round(sums * (127 / peak))
        return out.reshape(rows, PASSAGES, self.short)


@cache
def load_trained_data() -> TrainedData:
    return parse_trained_data(resources.files(__package__).joinpath("data", "trained.bin").read_bytes())


def parse_trained_data(buffer: Any) -> TrainedData:
    arrays = unpack(buffer, version=TRAINED_FORMAT)
    return TrainedData(
        vocabulary=arrays["vocabulary"],
        frequency=arrays["frequency"],
        documents=int(arrays["documents"][0]),
        in_front=arrays["in_front"],
        in_name=arrays["in_name"],
        importance=arrays["importance"],
        vectors=arrays["vectors"],
        networks={name: read_network(arrays, name) for name in NETWORKS},
        ease=float(arrays["ease"][0]),
    )


def _lengths(rows: Array) -> Array:
    squares = np.empty(len(rows), dtype=np.float32)
    for at in range(0, len(rows), 4096):
        wide = rows[at : at + 4096].astype(np.float32)
        squares[at : at + 4096] = np.einsum("td,td->t", wide, wide)
    return np.sqrt(squares)


def _saturated(counts: Array) -> Array:
    wide = counts.astype(np.float32)
    return wide / (wide + 1)


def _in_bytes(vector: Array) -> Array:
    peak = float(np.abs(vector).max(initial=0))
    return np.round(vector * (127 / peak)).astype(np.int8) if peak > 0 else np.zeros(len(vector), dtype=np.int8)
