"""The trained data that ships with the package: word statistics, word vectors, and the ranking networks.

It holds statistics and weights only, no sentence of any skill. It is read on first use, because most programs that import
metier rank nothing. `training/` makes it.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import cache, cached_property
from importlib import resources
from typing import Any

import numpy as np

from metier.values import dataclass

from .arrays import Array, product, unit
from .container import unpack

__all__ = [
    "FEW_SKILLS", "NETWORKS", "PASSAGES", "TRAINED_FORMAT", "Network", "TrainedData", "load_trained_data",
    "parse_trained_data", "read_network",
]  # fmt: skip

TRAINED_FORMAT = 5
NETWORKS = ("salience", "many", "few", "fit", "sure")
FEW_SKILLS = 1_500
"""Largest number of skills for which the network "few" orders the candidates."""
_SHORT = 64
"""Dimensions in which words and passages are compared. The axes are ordered, so the first carry the most."""
_BODY_TERMS = 96
"""Terms in a body's vector, by weight: more of them would pull every long document to the same centre."""

PASSAGES = 8
_PASSAGE = 60
"""Passages of a body with a vector of their own, and the minimum words of each if there are several."""
_AT_ONCE = 1 << 14
_NETWORK_PARTS = ("middle", "spread", "hidden", "hidden_bias", "output")


@dataclass(frozen=True, kw_only=True)
class Network:
    middle: Array
    spread: Array
    hidden: Array
    """Indexed by member, signal and unit."""
    hidden_bias: Array
    output: Array
    bias: float = 0.0
    """Added by callers that read the score as log-odds."""

    def scores(self, values: Array) -> Array:
        """Returns one number per candidate. Only their order and distances within one request are meaningful."""
        hidden, bias, output = self._flat
        inputs = np.clip((values - self.middle) / self.spread, -4, 4)
        return np.asarray(product(np.tanh(product(inputs, hidden) + bias), output))[:, 0]

    @cached_property
    def _flat(self) -> tuple[Array, Array, Array]:
        """Returns all members side by side, as one wide layer."""
        members, width, units = self.hidden.shape
        hidden = np.ascontiguousarray(self.hidden.transpose(1, 0, 2).reshape(width, members * units))
        return hidden, self.hidden_bias.reshape(-1), self.output.reshape(-1, 1) / np.float32(members)


def read_network(arrays: Mapping[str, Array], prefix: str) -> Network:
    parts = {name: arrays[f"{prefix}.{name}"].astype(np.float32) for name in _NETWORK_PARTS}
    return Network(**parts, bias=float(arrays[f"{prefix}.bias"][0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Passages:
    sizes: Array
    """Number of passages by document, at most `PASSAGES`."""
    vectors: Array
    """One row per passage, in signed bytes."""


@dataclass(frozen=True, kw_only=True)
class TrainedData:
    vocabulary: Array
    """Hashes of the stems known beforehand, sorted."""
    frequency: Array
    """Number of background documents that contain each stem."""
    documents: int
    in_front: Array
    """Number of background documents that contain each stem in the name or description; `in_name`: in the name."""
    in_name: Array
    importance: Array
    """Learned weight of each stem in a vector."""
    vectors: Array
    """One signed byte per dimension."""
    networks: Mapping[str, Network]
    """"salience" weighs the words of a request; "many" and "few" order the candidates of a large and of a small library;
    "fit" decides whether a candidate is worth activating; "sure" gives the confidence."""
    size_bonus: float = 0.0
    """Log-odds added to the fit for each power of ten of a large library."""

    @cached_property
    def mark(self) -> int:
        """A checksum that differs between training runs."""
        return zlib.crc32(self.importance.tobytes(), zlib.crc32(self.vocabulary.tobytes()))

    @cached_property
    def topical(self) -> Array:
        """Log-odds that a stem of a skill is also in its description."""
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
        """Number of leading dimensions that are used where all would be too slow."""
        return min(_SHORT, self.dimensions)

    def order(self, live_count: int) -> Network:
        """Returns the ordering network: a small library needs the topic, a large one tells skills of one topic apart."""
        return self.networks["few" if live_count <= FEW_SKILLS else "many"]

    def places(self, hashes: Array) -> Array:
        """Returns the position of each hash in the vocabulary, or -1."""
        if not len(self.vocabulary):
            return np.full(len(hashes), -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.vocabulary, hashes), len(self.vocabulary) - 1)
        return np.asarray(np.where(self.vocabulary[place] == hashes, place, -1))

    def rarity(self, places: Array) -> Array:
        """Returns the background idf by position; -1, an unknown word, is the rarest."""
        return np.asarray(self._rarity[places])

    @cached_property
    def _rarity(self) -> Array:
        frequency = np.append(self.frequency, 0.5)
        return np.log1p((self.documents + 0.5) / (frequency + 0.5)).astype(np.float32)

    def text_vectors(self, hashes: Array, counts: Array) -> Array:
        """Returns the unit vector of each text, one per row of `counts`; zeros if none of its terms is known."""
        place = self.places(hashes)
        known = np.flatnonzero(place >= 0)
        place = place.take(known)
        weights = self.importance.take(place) * _saturate(counts.take(known, axis=1))
        return unit(product(weights, self.vectors.take(place, axis=0).astype(np.float32)))

    def word_cosines(self, places: Array, others: Array) -> Array:
        """Returns the cosines of the words at `places` (rows) and at `others` (columns); 0 for a place of -1."""
        short, scale = self._short
        left = short.take(places, axis=0).astype(np.float32)
        left *= scale.take(places)[:, None]
        right = short.take(others, axis=0) * scale.take(others)[:, None]
        return product(left, right.T)

    def text_cosines(self, texts: Array, places: Array) -> Array:
        """Returns the cosines of texts, given as unit vectors (rows), and the words at `places` (columns)."""
        wide = unit(self.vectors.take(places, axis=0))
        wide[places < 0] = 0
        return product(texts, wide.T)

    @cached_property
    def _short(self) -> tuple[Array, Array]:
        """Returns the leading dimensions of each word and their scale to length one; the last row, for -1, is zeros."""
        short = np.zeros((len(self.vectors) + 1, self.short), dtype=np.int8)
        short[:-1] = self.vectors[:, : self.short]
        return short, 1 / np.maximum(_lengths(short), np.float32(1e-6))

    def document_vectors(self, vocabulary: Array, row: Array, term: Array, counts: Array, rows: int) -> Array:
        """Returns two vectors per document, in signed bytes. The postings must be ordered by row."""
        out = np.zeros((rows, 2, self.dimensions), dtype=np.int8)
        if not self.dimensions:
            return out
        place = self.places(vocabulary)[term]
        wide = counts.astype(np.float32)
        importance = np.where(place >= 0, self.importance[place], 0)
        front = importance * _saturate(2 * wide[:, 0] + wide[:, 1])
        back = importance * _saturate(wide[:, 3] + wide[:, 4])
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

    def passage_vectors(self, vocabulary: Array, row: Array, term: Array, rows: int) -> Passages:
        """Returns the leading dimensions of a few vectors per body. The words must be in text order, by row."""
        place = self.places(vocabulary)[term]
        row, place = row[place >= 0], place[place >= 0]
        size = np.bincount(row, minlength=rows)
        within = np.arange(len(row)) - (np.cumsum(size) - size)[row]
        many = np.clip(-(-size // _PASSAGE), 0, PASSAGES)
        out = np.zeros((int(many.sum()), self.short), dtype=np.int8)
        passage = (np.cumsum(many) - many)[row] + within * many[row] // size[row]
        key, counts = np.unique(passage * len(self.vocabulary) + place, return_counts=True)
        passage, place = np.divmod(key, len(self.vocabulary))
        weights = self.importance[place] * _saturate(counts)
        begins = np.flatnonzero(np.diff(passage, prepend=-1))
        # A few thousand words at a time, because all at once would take gigabytes.
        for some in np.split(begins, np.arange(_AT_ONCE // _PASSAGE, len(begins), _AT_ONCE // _PASSAGE)):
            if len(some):
                end = begins[np.searchsorted(begins, some[-1]) + 1] if some[-1] != begins[-1] else len(passage)
                span = slice(some[0], end)
                wide = self.vectors[place[span], : self.short] * weights[span, None]
                sums = np.add.reduceat(wide, some - some[0], axis=0)
                peak = np.maximum(np.abs(sums).max(axis=1, keepdims=True), 1e-9)
                out[passage[some]] = np.round(sums * (127 / peak))
        return Passages(sizes=many, vectors=out)


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
        size_bonus=float(arrays["ease"][0]),
    )


def _lengths(rows: Array) -> Array:
    squares = np.empty(len(rows), dtype=np.float32)
    for at in range(0, len(rows), 4096):
        wide = rows[at : at + 4096].astype(np.float32)
        squares[at : at + 4096] = np.einsum("td,td->t", wide, wide)
    return np.sqrt(squares)


def _saturate(counts: Array) -> Array:
    wide = counts.astype(np.float32)
    return wide / (wide + 1)


def _in_bytes(vector: Array) -> Array:
    peak = float(np.abs(vector).max(initial=0))
    return np.round(vector * (127 / peak)).astype(np.int8) if peak > 0 else np.zeros(len(vector), dtype=np.int8)
