"""What speaks for each candidate, in numbers: the columns that the re-ranking network reads.

All are relative to the request (its weight in all, the best candidate), never to the library's size, so that
weights learnt on ten thousand skills hold for ten.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .container import Array
from .library import Library, Postings
from .likeness import NEAREST, TOPICAL, nearest_words, topics
from .query import Query
from .scales import product, standard
from .segment import BODY, FIELD_B, FIELD_LENGTH, HEADINGS, NAME, NEGATIVE, PURPOSE
from .trained import Trained

__all__ = ["SIGNALS", "Evidence", "by_candidate", "candidates", "signals", "term_weights"]

SIGNALS = (
    "score", "score_z", "score_ratio", "flat", "flat_z", "front", "back", "heads", "negative",
    "front_coverage", "coverage", "name_coverage", "name_share", "purpose_share", "best_sentence", "sentence_share",
    "phrase", "rarest", "rarest_front", "words_front", "words_all", "gap",
    "length_purpose", "length_body", "length_name", "query_terms", "query_mass", "query_idf", "best_score", "library",
    "plain", "plain_z", "plain_ratio", "part", "part_z",
    *NEAREST, *TOPICAL,
)  # fmt: skip

_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The candidates of one request and what is known of them."""

    rows: Array
    values: Array
    """By candidate and signal."""
    matched: Array
    """By term and candidate: where the term stands, as bits of `segment.FIELDS`."""
    further: Array
    """Rows behind the candidates, by words alone: only whoever asks for very many sees them."""
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
    query: Query,
    library: Library,
    postings: Postings,
    weights: tuple[Array, Array],
    rows: Array,
    trained: Trained,
    further: Array = _NONE,
) -> Evidence:
    """`weights` of the terms: by rarity alone, and by what matters in this request; they have the same sum."""
    plain_weights, moved = weights
    counts, impacts = by_candidate(query, postings, rows, len(library.alive))
    lengths = library.lengths(rows).astype(np.float32)
    mass = float(moved.sum()) or 1.0
    plain, score = plain_weights @ impacts, moved @ impacts
    column = _lexical(counts, lengths, moved, mass, score)
    column |= _sequences(query, library, rows, moved, mass, trained)
    column |= _parts(query, impacts, moved, mass)
    column |= topics(query, library, rows, impacts > 0, moved / mass, score, trained)
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
    return Evidence(rows=rows, values=values, matched=bits, further=further, weights=moved)


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


def _parts(query: Query, impacts: Array, weights: Array, mass: float) -> dict[str, Array]:
    """The sentence of the request that fits best: the rest of a long one may be scenery."""
    said = query.parts * weights
    # The constant keeps a sentence of one lucky word from looking like a perfect match.
    best = (product(said, impacts) / (said.sum(axis=1, keepdims=True) + 0.15 * mass)).max(axis=0)
    return {"part": best, "part_z": standard(best)}


def _sequences(query: Query, library: Library, rows: Array, weights: Array, mass: float, trained: Trained) -> dict[str, Array]:
    """What the order of words tells: shares of the name and of sentences, and neighbours that stay neighbours."""
    words = library.sequences(query, rows)
    size, width = len(rows), int(words.sentence.max(initial=1)) + 1
    hit = words.asked >= 0
    rarity = trained.rarity(words.known)
    group = words.owner * width + words.sentence
    total = np.bincount(group, weights=rarity, minlength=size * width).reshape(size, width)
    seen = np.bincount(group, weights=rarity * hit, minlength=size * width).reshape(size, width)
    flags = np.zeros(size * width * max(1, len(query)), dtype=bool)  # a word said twice in a sentence counts once
    flags[group[hit] * len(query) + words.asked[hit]] = True
    sentence, term = np.divmod(np.flatnonzero(flags), max(1, len(query)))
    by_sentence = np.bincount(sentence, weights=weights[term], minlength=size * width).reshape(size, width)
    inside = np.flatnonzero(hit[:-1] & hit[1:] & (group[:-1] == group[1:]))
    inside = inside[query.follows[words.asked[inside], words.asked[inside + 1]]]
    pairs = np.minimum(weights[words.asked[inside]], weights[words.asked[inside + 1]])
    return nearest_words(query, weights / mass, words, rarity, size, trained) | {
        "name_share": seen[:, 0] / np.maximum(total[:, 0], 1e-6),
        "purpose_share": seen[:, 1:].sum(axis=1) / np.maximum(total[:, 1:].sum(axis=1), 4.0),
        "best_sentence": by_sentence[:, 1:].max(axis=1) / mass,
        "sentence_share": (seen[:, 1:] / np.maximum(total[:, 1:], 4.0)).max(axis=1),
        "phrase": np.bincount(words.owner[inside], weights=pairs, minlength=size) / mass,
    }
