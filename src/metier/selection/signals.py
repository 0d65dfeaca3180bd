"""The signals of each candidate: the columns that the ranking networks read.

All are relative to the request (its total weight, its best candidate) and not to the size of the library, so that weights
learned on ten thousand skills hold for ten. The columns that end in `_z` compare a candidate with the others in the column
of the same name.
"""

from __future__ import annotations

import math

import numpy as np

from metier.values import dataclass

from .arrays import Array, product, standard
from .candidate_texts import CandidateTexts, Runs
from .query import Query
from .segment import BODY, FIELDS, HEADINGS, NAME, NEGATIVE, PURPOSE, follower_bit
from .similarity import NEAREST, TOPICAL, nearest_word_signals, topic_signals
from .skill_index import Postings, SkillIndex
from .trained_data import FEW_SKILLS, TrainedData

__all__ = [
    "SIGNALS",
    "Evidence",
    "anchor",
    "compute_signals",
    "find_candidates",
    "spread_postings",
    "strangeness_of",
    "term_weights",
]

_PLAIN = (
    "score", "score_ratio", "flat", "front", "back", "heads", "negative", "front_coverage", "coverage", "name_coverage",
    "name_share", "purpose_share", "best_sentence", "sentence_share", "clause", "clause_share", "clause_fit", "phrase",
    "rarest", "rarest_front", "words_front", "words_all", "gap", "together",
    "length_purpose", "length_body", "length_name", "query_terms", "query_mass", "query_idf", "best_score", "library",
    "plain", "plain_ratio", "part", *NEAREST, *TOPICAL,
)  # fmt: skip
_BESIDE = (
    "score", "flat", "plain", "part", "clause_fit", "together", "soft", "vector_front", "vector_back", "aspect",
    "company", "passage", "passage_part",
)  # fmt: skip
SIGNALS = (*_PLAIN, *(f"{name}_z" for name in _BESIDE))
_PLAIN_Z, _VECTOR_Z = (SIGNALS.index(name) for name in ("plain_z", "vector_front_z"))
_BESIDE_ROWS = [_PLAIN.index(name) for name in _BESIDE]

_IN_ORDER = (
    "name_share", "purpose_share", "best_sentence", "sentence_share", "clause", "clause_share", "clause_fit", "phrase",
)  # fmt: skip
_FAR_BEHIND = 0.3
"""Share of the best score below which a row is rarely a candidate."""
_LONG = 3.4
"""Logarithm of the number of terms from which a request is long: thirty."""
_NONE = np.zeros(0, dtype=np.int64)
_BITS = (1 << np.arange(len(FIELDS), dtype=np.uint8))[:, None, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The candidates of one request and their signals."""

    rows: Array
    values: Array
    """Indexed by candidate and signal."""
    matched: Array
    """Indexed by term and candidate: the fields with the term, as bits of `segment.FIELDS`."""
    further: Array
    """Rows after the candidates, by words alone; used only for a very large limit."""
    weights: Array
    """Weight of each term of the request, after `salience`."""
    front: Array
    """Unit vector of each candidate's name and description."""
    strangeness: float
    """See `strangeness_of`."""


def term_weights(query: Query, postings: Postings, live_count: int, trained: TrainedData) -> Array:
    """Averages the rarity in this library and in the background, because a library of ten has no statistics of its own."""
    local = np.log1p((live_count - postings.frequency + 0.5) / (postings.frequency + 0.5))
    return np.asarray((local + trained.rarity(trained.places(query.hashes))) / 2 * query.weights, dtype=np.float32)


def find_candidates(postings: Postings, weights: Array, rows: int, limit: int) -> Array:
    """Returns the best `limit` rows by BM25F, best first; ties go to the earlier row."""
    scores = np.bincount(postings.row, weights=postings.impact * weights.take(postings.term), minlength=rows)
    found = np.flatnonzero(scores > _FAR_BEHIND * scores.max(initial=0))
    if len(found) < limit:
        found = np.flatnonzero(scores)
    there = scores.take(found)
    if len(found) > limit:
        near = np.flatnonzero(there >= np.partition(there, len(there) - limit)[len(there) - limit])
        found, there = found.take(near), there.take(near)
    return found.take(np.argsort(-there, kind="stable")[:limit])


def compute_signals(
    query: Query,
    library: SkillIndex,
    postings: Postings,
    weights: tuple[Array, Array],
    texts: CandidateTexts,
    trained: TrainedData,
    further: Array = _NONE,
) -> Evidence:
    """`weights` are the terms' weights by rarity alone and after `salience`; both have the same sum."""
    plain_weights, moved = weights
    rows, lengths = texts.rows, texts.lengths
    counts, impacts, followers = spread_postings(query, postings, rows, len(library.alive))
    mass = float(moved.sum()) or 1.0
    plain, score = plain_weights @ impacts, moved @ impacts
    column: dict[str, Array | float] = {
        **_lexical(counts, texts.scale, moved, mass, score),
        **_sequences(query, library, texts, moved, mass, trained),
        **topic_signals(query, texts, impacts > 0, moved / mass, score, trained),
        "part": _part(query, impacts, moved, mass),
        "together": _together(query, counts, followers, moved / mass),
        "length_purpose": np.log1p(lengths[:, PURPOSE]) / 5,
        "length_body": np.log1p(lengths[:, BODY]) / 7,
        "length_name": np.log1p(lengths[:, NAME]) / 2,
        "query_terms": np.log1p(len(query)) / 5,
        "query_mass": np.log1p(mass) / 5,
        "query_idf": mass / max(1.0, float(query.weights.sum())) / 8,
        "best_score": float(score.max(initial=0)) / mass,
        "library": np.log1p(library.live_count) / 10,
        "plain": plain / mass,
        "plain_ratio": plain / (float(plain.max(initial=0)) or 1.0),
    }
    values = np.empty((len(SIGNALS), len(rows)), dtype=np.float32)
    for place, name in enumerate(_PLAIN):
        values[place] = column[name]
    values[len(_PLAIN) :] = standard(values[_BESIDE_ROWS])
    bits = ((counts > 0) * _BITS).sum(axis=0, dtype=np.uint8)
    return Evidence(
        rows=rows,
        values=np.ascontiguousarray(values.T),
        matched=bits,
        further=further,
        weights=moved,
        front=texts.stored[::2],
        strangeness=strangeness_of(query, library.live_count),
    )


def anchor(values: Array, strangeness: float) -> Array:
    """Returns log-odds by plain words and meaning, for a request unlike those that the networks learned from."""
    return np.asarray(strangeness * (2 * values[:, _PLAIN_Z] + values[:, _VECTOR_Z]))


def strangeness_of(query: Query, live_count: int) -> float:
    """Returns how unlike the training requests a request is, which are sentences with about twenty words.

    0 for those, 1 for a list of keywords; beyond thirty terms it grows with the length. Always 0 in a small library, where
    the network orders such requests better than plain words do.
    """
    if live_count <= FEW_SKILLS:
        return 0.0
    return 1.0 if query.is_keywords else max(0.0, math.log1p(len(query)) - _LONG)


def spread_postings(query: Query, postings: Postings, rows: Array, total: int) -> tuple[Array, Array, Array]:
    """Returns by term and candidate: the counts by field, the impacts, and which words follow in the body."""
    slot = np.full(total, -1, dtype=np.int32)
    slot[rows] = np.arange(len(rows))
    place = slot.take(postings.row)
    kept = np.flatnonzero(place >= 0)
    counts = np.zeros((len(FIELDS), len(query) * len(rows)), dtype=np.float32)
    impacts = np.zeros(len(query) * len(rows), dtype=np.float32)
    followers = np.zeros(len(query) * len(rows), dtype=np.uint32)
    into = postings.term.take(kept) * len(rows) + place.take(kept)
    by_field, followers[into] = postings.counts_and_followers(kept)
    counts[:, into] = by_field.T
    impacts[into] = postings.impact.take(kept) / np.float32(255)
    shape = (len(query), len(rows))
    return counts.reshape(len(FIELDS), *shape), impacts.reshape(shape), followers.reshape(shape)


def _lexical(counts: Array, scale: Array, weights: Array, mass: float, score: Array) -> dict[str, Array]:
    share = weights / np.float32(mass)
    normal = counts * scale
    name, purpose, heads, back = (normal[field] for field in (NAME, PURPOSE, HEADINGS, BODY))
    front = 2 * name + purpose
    flat = name + purpose + 0.3 * (heads + back)
    in_front = front > 0
    anywhere = flat > 0
    second = np.partition(score, -2)[-2] if len(score) > 1 else 0.0
    best = float(score.max(initial=0)) or 1.0
    largest = float(weights.max(initial=1))
    return {
        "score": score / mass,
        "score_ratio": score / best,
        "flat": share @ (flat / (1 + flat)),
        "front": share @ (front / (1 + front)),
        "back": share @ (back / (1.5 + back)),
        "heads": share @ (heads / (1 + heads)),
        "negative": share @ ((counts[NEGATIVE] > 0) & ~in_front),
        "front_coverage": share @ in_front,
        "coverage": share @ anywhere,
        "name_coverage": share @ (name > 0),
        "rarest": (weights[:, None] * anywhere).max(axis=0, initial=0) / largest,
        "rarest_front": (weights[:, None] * in_front).max(axis=0, initial=0) / largest,
        "words_front": np.log1p(in_front.sum(axis=0)) / 3,
        "words_all": np.log1p(anywhere.sum(axis=0)) / 4,
        "gap": (score - np.where(score >= best, second, best)) / best,
    }


def _part(query: Query, impacts: Array, weights: Array, mass: float) -> Array:
    """Scores the best sentence of the request; the rest of a long one may be background."""
    said = query.parts * weights
    # The constant keeps a sentence of one word from looking like a perfect match.
    return np.asarray((product(said, impacts) / (said.sum(axis=1, keepdims=True) + 0.15 * mass)).max(axis=0))


def _together(query: Query, counts: Array, followers: Array, share: Array) -> Array:
    """Scores adjacent words of the request that are adjacent in a body too."""
    left, right = np.nonzero(query.follows)
    bit = np.uint32(1) << follower_bit(query.hashes.take(right)).astype(np.uint32)
    close = (followers.take(left, axis=0) & bit[:, None] > 0) & (counts[BODY].take(right, axis=0) > 0)
    return np.asarray(np.minimum(share.take(left), share.take(right)) @ close)


def _sequences(
    query: Query, library: SkillIndex, texts: CandidateTexts, weights: Array, mass: float, trained: TrainedData
) -> dict[str, Array]:
    """Returns the signals from word order: shares of the name, of sentences and clauses, and adjacent words."""
    words, size = texts.words, len(texts.rows)
    if not len(words.owner) or not len(query):
        return dict.fromkeys((*_IN_ORDER, *NEAREST), np.zeros(size, dtype=np.float32))
    share = weights / np.float32(mass)
    query_term = library.query_terms(query).take(words.term)
    hits = np.flatnonzero(query_term >= 0)
    asked, rarity = query_term.take(hits), texts.rarity.take(hits)
    sentences = _hits(texts.sentences, hits, asked, rarity, share)
    clauses = _hits(texts.clauses, hits, asked, rarity, share)
    runs, parts = texts.sentences, texts.clauses
    name_hits = np.bincount(runs.owner, sentences.rarity * ~runs.purpose, size)
    all_hits = np.bincount(runs.owner, sentences.rarity, size)
    fit = clauses.rarity / (parts.total + 3)
    beside = np.flatnonzero(query.follows[asked[:-1], asked[1:]] & (np.diff(sentences.number) == 0) & (np.diff(hits) == 1))
    pairs = np.minimum(share.take(asked.take(beside)), share.take(asked.take(beside + 1)))
    return nearest_word_signals(query, share, texts, trained) | {
        "name_share": name_hits / np.maximum(texts.name_total, 1e-6),
        "purpose_share": (all_hits - name_hits) / np.maximum(texts.all_total - texts.name_total, 4),
        "best_sentence": runs.most(sentences.weight, size),
        "sentence_share": runs.most(sentences.rarity / np.maximum(runs.total, 4), size),
        "clause": parts.most(clauses.weight, size),
        "clause_share": parts.most(fit, size),
        "clause_fit": parts.most(fit * clauses.weight, size),
        "phrase": np.bincount(words.owner.take(hits.take(beside)), pairs, size),
    }


@dataclass(frozen=True, slots=True)
class _Hits:
    """The words of the request in sentences, or in clauses."""

    number: Array
    """The run of each hit."""
    weight: Array
    """By run: weight of the request's terms in it, each counted once."""
    rarity: Array
    """By run: total rarity of its words that are in the request."""


def _hits(runs: Runs, hits: Array, asked: Array, rarity: Array, share: Array) -> _Hits:
    number, count = runs.number.take(hits), len(runs.owner)
    once = np.zeros(count * len(share), dtype=bool)
    once[number * len(share) + asked] = True
    return _Hits(number, once.reshape(count, len(share)) @ share, np.bincount(number, rarity, count))
