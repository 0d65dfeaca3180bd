"""What speaks for each candidate, in numbers: the columns that the re-ranking network reads.

All are relative to the request (its weight in all, the best candidate), never to the library's size, so that
weights learnt on ten thousand skills hold for ten.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .container import Array
from .library import Library, Postings, Sequences
from .query import Query
from .segment import BODY, FIELD_B, FIELD_LENGTH, HEADINGS, NAME, NEGATIVE, PURPOSE
from .trained import Trained

__all__ = ["SIGNALS", "Evidence", "by_candidate", "candidates", "signals", "standard", "term_weights"]

SIGNALS = (
    "score", "score_z", "score_ratio", "flat", "flat_z", "front", "back", "heads", "negative",
    "front_coverage", "coverage", "name_coverage", "name_share", "purpose_share", "best_sentence", "sentence_share",
    "phrase", "rarest", "rarest_front", "words_front", "words_all", "gap",
    "vector_front", "vector_back", "vector_front_z", "vector_back_z", "soft", "soft_z", "soft_share",
    "length_purpose", "length_body", "length_name", "query_terms", "query_mass", "query_idf", "best_score", "library",
    "plain", "plain_z", "plain_ratio",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The candidates of one request and what is known of them."""

    rows: Array
    values: Array
    """By candidate and signal."""
    matched: Array
    """By term and candidate: where the term stands, as bits of `segment.FIELDS`."""
    weights: Array
    """Of each term of the request, by what matters in it."""


def term_weights(query: Query, postings: Postings, living: int, trained: Trained) -> Array:
    """Half this library's rarity, half the background's: a library of ten has no statistics of its own."""
    local = np.log1p((living - postings.frequency + 0.5) / (postings.frequency + 0.5))
    return np.asarray((local + trained.rarity(trained.places(query.hashes))) / 2 * query.weights, dtype=np.float32)


def candidates(postings: Postings, weights: Array, rows: int, limit: int) -> Array:
    """The best `limit` rows by BM25F, best first; ties go to the earlier row."""
    scores = np.bincount(postings.row, weights=postings.impact * weights[postings.term], minlength=rows)
    if len(scores) > limit:
        cut = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        found = np.flatnonzero(scores >= max(cut, 1e-9))
    else:
        found = np.flatnonzero(scores > 0)
    return found[np.lexsort((found, -scores[found]))][:limit]


def signals(
    query: Query, library: Library, postings: Postings, weights: tuple[Array, Array], rows: Array, trained: Trained
) -> Evidence:
    """`weights` of the terms: by rarity alone, and by what matters in this request; they have the same sum."""
    plain_weights, moved = weights
    counts, impacts = by_candidate(query, postings, rows, len(library.alive))
    lengths = library.lengths(rows).astype(np.float32)
    mass = float(moved.sum()) or 1.0
    plain, score = plain_weights @ impacts, moved @ impacts
    column = _lexical(counts, lengths, moved, mass, score)
    column |= _sequences(query, library, rows, moved, mass, trained)
    column |= _vectors(query, library, rows, trained)
    size = len(rows)
    column |= {
        "length_purpose": np.log1p(lengths[:, PURPOSE]) / 5,
        "length_body": np.log1p(lengths[:, BODY]) / 7,
        "length_name": np.log1p(lengths[:, NAME]) / 2,
        "query_terms": np.full(size, np.log1p(len(query)) / 5),
        "query_mass": np.full(size, np.log1p(mass) / 5),
        "query_idf": np.full(size, mass / max(1.0, float(query.weights.sum())) / 8),
        "best_score": np.full(size, float(score.max(initial=0)) / mass),
        "library": np.full(size, np.log1p(library.living) / 10),
        "plain": plain / mass,
        "plain_z": standard(plain),
        "plain_ratio": plain / (float(plain.max(initial=0)) or 1.0),
    }
    values = np.stack([column[name] for name in SIGNALS], axis=1).astype(np.float32)
    bits = (counts > 0).astype(np.uint8) @ (1 << np.arange(5, dtype=np.uint8))
    return Evidence(rows=rows, values=values, matched=bits, weights=moved)


def by_candidate(query: Query, postings: Postings, rows: Array, total: int) -> tuple[Array, Array]:
    """Counts by term, candidate and field; impacts by term and candidate."""
    slot = np.full(total, -1, dtype=np.int32)
    slot[rows] = np.arange(len(rows))
    place = slot[postings.row]
    kept = np.flatnonzero(place >= 0)
    counts = np.zeros((len(query), len(rows), 5), dtype=np.float32)
    impacts = np.zeros((len(query), len(rows)), dtype=np.float32)
    term, place = postings.term[kept], place[kept]
    counts[term, place] = postings.count(kept)
    impacts[term, place] = postings.impact[kept] / np.float32(255)
    return counts, impacts


def _lexical(counts: Array, lengths: Array, weights: Array, mass: float, score: Array) -> dict[str, Array]:
    normal = counts / (1 - FIELD_B + FIELD_B * lengths / FIELD_LENGTH)
    front = 2 * normal[..., NAME] + normal[..., PURPOSE]
    flat = normal[..., NAME] + normal[..., PURPOSE] + 0.3 * (normal[..., HEADINGS] + normal[..., BODY])
    present = counts > 0
    in_front = present[..., NAME] | present[..., PURPOSE]
    anywhere = in_front | present[..., HEADINGS] | present[..., BODY]
    flat_score = weights @ (flat / (1 + flat)) / mass
    second = np.partition(score, -2)[-2] if len(score) > 1 else 0.0
    best = float(score.max(initial=0)) or 1.0
    return {
        "score": score / mass,
        "score_z": standard(score),
        "score_ratio": score / best,
        "flat": flat_score,
        "flat_z": standard(flat_score),
        "front": weights @ (front / (1 + front)) / mass,
        "back": weights @ (normal[..., BODY] / (1.5 + normal[..., BODY])) / mass,
        "heads": weights @ (normal[..., HEADINGS] / (1 + normal[..., HEADINGS])) / mass,
        "negative": weights @ (present[..., NEGATIVE] & ~in_front) / mass,
        "front_coverage": weights @ in_front / mass,
        "coverage": weights @ anywhere / mass,
        "name_coverage": weights @ present[..., NAME] / mass,
        "rarest": (weights[:, None] * anywhere).max(axis=0, initial=0) / float(weights.max(initial=1)),
        "rarest_front": (weights[:, None] * in_front).max(axis=0, initial=0) / float(weights.max(initial=1)),
        "words_front": np.log1p(in_front.sum(axis=0)) / 3,
        "words_all": np.log1p(anywhere.sum(axis=0)) / 4,
        "gap": (score - np.where(score >= best, second, best)) / best,
    }


def _sequences(query: Query, library: Library, rows: Array, weights: Array, mass: float, trained: Trained) -> dict[str, Array]:
    """What the order of words tells: shares of the name and of sentences, and neighbours that stay neighbours."""
    words = library.sequences(query, rows)
    size, width = len(rows), int(words.sentence.max(initial=1)) + 1
    hit = words.asked >= 0
    rarity = trained.rarity(words.known)
    group = words.owner * width + words.sentence
    total = np.bincount(group, weights=rarity, minlength=size * width).reshape(size, width)
    seen = np.bincount(group, weights=rarity * hit, minlength=size * width).reshape(size, width)
    said = np.unique(group[hit] * len(query) + words.asked[hit])
    sentence, term = np.divmod(said, max(1, len(query)))
    by_sentence = np.bincount(sentence, weights=weights[term], minlength=size * width).reshape(size, width)
    inside = np.flatnonzero(hit[:-1] & hit[1:] & (group[:-1] == group[1:]))
    inside = inside[query.follows[words.asked[inside], words.asked[inside + 1]]]
    pairs = np.minimum(weights[words.asked[inside]], weights[words.asked[inside + 1]])
    return _soft(query, weights / mass, words, rarity, size, trained) | {
        "name_share": seen[:, 0] / np.maximum(total[:, 0], 1e-6),
        "purpose_share": seen[:, 1:].sum(axis=1) / np.maximum(total[:, 1:].sum(axis=1), 4.0),
        "best_sentence": by_sentence[:, 1:].max(axis=1) / mass,
        "sentence_share": (seen[:, 1:] / np.maximum(total[:, 1:], 4.0)).max(axis=1),
        "phrase": np.bincount(words.owner[inside], weights=pairs, minlength=size) / mass,
    }


def _soft(query: Query, weights: Array, words: Sequences, rarity: Array, size: int, trained: Trained) -> dict[str, Array]:
    """Each word of the request beside the word nearest to it in meaning: what is said in other words."""
    none = np.zeros(size, dtype=np.float32)
    if not trained.dimensions or not len(words.owner) or not len(query):
        return {"soft": none, "soft_z": none, "soft_share": none}
    slot = np.zeros(len(trained.vocabulary) + 1, dtype=np.int32)
    slot[words.known] = 1
    places = np.flatnonzero(slot)
    slot[places] = np.arange(len(places))
    places[places == len(trained.vocabulary)] = -1
    column = slot[words.known]
    near = np.maximum(trained.nearness(places, trained.places(query.hashes)), 0)
    starts = np.searchsorted(words.owner, np.arange(size))
    filled = np.flatnonzero(np.diff(np.append(starts, len(words.owner))) > 0)
    best = np.zeros((size, len(query)), dtype=np.float32)
    best[filled] = np.maximum.reduceat(near[column], starts[filled], axis=0)
    soft = best @ weights
    echoed = np.bincount(words.owner, weights=rarity * near.max(axis=1)[column], minlength=size)
    return {
        "soft": soft,
        "soft_z": standard(soft),
        "soft_share": echoed / np.maximum(np.bincount(words.owner, weights=rarity, minlength=size), 4.0),
    }


def _vectors(query: Query, library: Library, rows: Array, trained: Trained) -> dict[str, Array]:
    if not trained.dimensions:
        none = np.zeros(len(rows), dtype=np.float32)
        return dict.fromkeys(("vector_front", "vector_back", "vector_front_z", "vector_back_z"), none)
    stored = library.vectors(rows).astype(np.float32).reshape(-1, trained.dimensions)
    lengths = np.sqrt(np.einsum("cd,cd->c", stored, stored))
    dots = np.einsum("cd,d->c", stored, trained.text_vector(query.hashes, query.counts))
    cosine = (dots / np.maximum(lengths, 1e-6)).reshape(-1, 2)
    return {
        "vector_front": cosine[:, 0],
        "vector_back": cosine[:, 1],
        "vector_front_z": standard(cosine[:, 0]),
        "vector_back_z": standard(cosine[:, 1]),
    }


def standard(values: Array) -> Array:
    if not len(values):
        return values
    centred = values - values.sum() / len(values)
    spread = math.sqrt(float(np.dot(centred, centred)) / len(values)) + 1e-3
    return np.asarray(centred / (3 * spread), dtype=np.float32)
