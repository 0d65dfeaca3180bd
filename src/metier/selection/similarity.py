"""Signals from word vectors, which find a skill that says the same in other words.

They are cosines of whole texts, of each word of the request and the nearest word of a description, of each word and a whole
skill, and of each candidate and the best ones, because a right skill is seldom the only one on its topic.
"""

from __future__ import annotations

import numpy as np

from .arrays import Array, product, standard, unit
from .candidate_texts import CandidateTexts
from .query import Query
from .trained_data import TrainedData

__all__ = ["NEAREST", "TOPICAL", "nearest_word_signals", "topic_signals"]

NEAREST = ("soft", "soft_share")
TOPICAL = (
    "vector_front", "vector_back", "central_front", "central_back", "aspect", "company", "company_back", "passage",
    "passage_part",
)  # fmt: skip
_MAX_TERMS = 64
"""Terms of a request that are compared one by one, by weight."""
_BEST = 8
"""Candidates that each candidate is compared with."""


def nearest_word_signals(query: Query, weights: Array, texts: CandidateTexts, trained: TrainedData) -> dict[str, Array]:
    """Compares each word of the request with the nearest word of a candidate. `weights` add up to one."""
    size = len(texts.rows)
    soft, echo = (np.zeros(size, dtype=np.float32) for _ in range(2))
    if trained.dimensions:
        near = np.maximum(trained.word_cosines(texts.places, trained.places(query.hashes)), 0)
        soft[texts.of] = np.maximum.reduceat(near.take(texts.column, axis=0), texts.begins, axis=0) @ weights
        # The maximum of a few numbers, many times, is faster along the other axis.
        nearest = np.ascontiguousarray(near.T).max(axis=0).take(texts.column)
        echo[texts.of] = np.add.reduceat(texts.rarity * nearest, texts.begins)
    return {"soft": soft, "soft_share": echo / np.maximum(texts.all_total, 4)}


def topic_signals(
    query: Query, texts: CandidateTexts, matched: Array, weights: Array, score: Array, trained: TrainedData
) -> dict[str, Array]:
    """Compares whole candidates. `matched` tells by term and candidate whether it occurs; `weights` add up to one."""
    size = len(texts.rows)
    if not trained.dimensions or not len(query) or not size:
        return dict.fromkeys(TOPICAL, np.zeros(size, dtype=np.float32))
    stored = texts.stored
    asked = trained.text_vectors(query.hashes, np.concatenate([query.counts[None], query.parts]))
    whole = (stored @ asked[0]).reshape(-1, 2)
    top = np.argsort(-weights, kind="stable")[:_MAX_TERMS]
    by_word = np.maximum(trained.text_cosines(stored, trained.places(query.hashes.take(top))), 0).reshape(size, 2, -1)
    there = matched.take(top, axis=0).T
    share = weights.take(top)
    fit = product(texts.passages, unit(asked[:, : trained.short]).T).reshape(size, -1, len(asked)).max(axis=1)
    return {
        "vector_front": whole[:, 0],
        "vector_back": whole[:, 1],
        "central_front": (by_word[:, 0] * there) @ share,
        "central_back": (by_word[:, 1] * there) @ share,
        "aspect": np.maximum(there, by_word.max(axis=1)) @ share,
        "passage": fit[:, 0],
        "passage_part": fit[:, 1:].max(axis=1),
    } | _company(stored, 3 * standard(score) + 1.5 * standard(whole[:, 0]))


def _company(stored: Array, promise: Array) -> dict[str, Array]:
    """Returns the similarity of each candidate and the most promising others."""
    best = np.argsort(-promise, kind="stable")[:_BEST]
    share = np.tile(np.exp(promise[best] - promise[best[0]]), (len(promise), 1))
    share[best, np.arange(len(best))] = 0  # not compared with itself
    share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-6)
    sides = stored.reshape(len(promise), 2, -1)
    front, back = (np.einsum("ce,ce->c", product(sides[:, side], sides[best, side].T), share) for side in (0, 1))
    return {"company": front, "company_back": back}
