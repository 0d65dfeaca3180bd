"""What was learnt beforehand and ships with the package: word statistics, word vectors, the re-ranking network.

Statistics and weights only, no sentence of anybody's skill. It is read on first use,
because most programs that import metier never rank anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from .container import Array, unpack
from .network import Network, read_network

__all__ = ["TRAINED_FORMAT", "Trained", "read_trained", "shipped"]

TRAINED_FORMAT = 1
_FEW = 1_500
"""Skills in the largest library that counts as small."""
_BODY_TERMS = 96
"""A body's vector is made of its weightiest terms: the rest pulls every long document to the same middle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    vocabulary: Array
    """Hashes of the stems known beforehand, sorted."""
    frequency: Array
    """Background documents that hold each stem."""
    documents: int
    importance: Array
    """Learnt weight of each stem in a vector."""
    vectors: Array
    """One signed byte a dimension."""
    networks: Mapping[str, Network]
    """"many" and "few" order the candidates of a large and of a small library; "sure" is for the confidence."""

    @property
    def dimensions(self) -> int:
        return int(self.vectors.shape[1])

    def order(self, living: int) -> Network:
        """Among few skills the question is which topic; among thousands, which of a dozen on the same topic."""
        return self.networks["few" if living <= _FEW else "many"]

    def places(self, hashes: Array) -> Array:
        """Where each hash stands in the vocabulary, or -1."""
        if not len(self.vocabulary):
            return np.full(len(hashes), -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.vocabulary, hashes), len(self.vocabulary) - 1)
        return np.asarray(np.where(self.vocabulary[place] == hashes, place, -1))

    def rarity(self, places: Array) -> Array:
        """Background idf by place; -1, a word never seen, is the rarest of all."""
        frequency = np.append(self.frequency, 0.5)
        return np.log1p((self.documents + 0.5) / (frequency[places] + 0.5)).astype(np.float32)

    def text_vector(self, hashes: Array, counts: Array) -> Array:
        """The unit vector of a text given by its terms; zeros when none is known."""
        place = self.places(hashes)
        known = place >= 0
        weight = self.importance[place[known]] * _saturated(counts[known])
        return _unit(weight @ self.vectors[place[known]].astype(np.float32))

    def nearness(self, places: Array, others: Array) -> Array:
        """Cosines of the words at `places` (rows) and at `others` (columns); nothing is near a place of -1."""
        rows, columns = self.vectors[places].astype(np.float32), self.vectors[others].astype(np.float32)
        return np.asarray(rows @ columns.T * self._scale(rows, places)[:, None] * self._scale(columns, others))

    @staticmethod
    def _scale(vectors: Array, places: Array) -> Array:
        return np.asarray((places >= 0) / np.maximum(np.sqrt(np.einsum("td,td->t", vectors, vectors)), 1e-6))

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


@cache
def shipped() -> Trained:
    return read_trained(resources.files(__package__).joinpath("data", "trained.bin").read_bytes())


def read_trained(buffer: Any) -> Trained:
    arrays = unpack(buffer, version=TRAINED_FORMAT)
    return Trained(
        vocabulary=arrays["vocabulary"],
        frequency=arrays["frequency"],
        documents=int(arrays["documents"][0]),
        importance=arrays["importance"],
        vectors=arrays["vectors"],
        networks={name: read_network(arrays, name) for name in ("many", "few", "sure")},
    )


def _saturated(counts: Array) -> Array:
    wide = counts.astype(np.float32)
    return wide / (wide + 1)


def _unit(vector: Array) -> Array:
    length = float(np.sqrt(vector @ vector))
    return vector / length if length > 0 else vector


def _in_bytes(vector: Array) -> Array:
    peak = float(np.abs(vector).max(initial=0))
    return np.round(vector * (127 / peak)).astype(np.int8) if peak > 0 else np.zeros(len(vector), dtype=np.int8)
