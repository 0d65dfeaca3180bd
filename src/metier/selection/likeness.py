"""What is said in other words: signals from word vectors, for the candidates of one request.

Cosines of whole texts, each word of the request beside the nearest word of a description, and beside what a skill is
about as a whole; and how close a candidate stands to the best ones, because right skills seldom stand alone.
"""

from __future__ import annotations

import numpy as np

from .container import Array
from .library import Library, Sequences
from .query import Query
from .scales import product, standard
from .trained import Trained

__all__ = ["NEAREST", "TOPICAL", "nearest_words", "topics"]

NEAREST = ("soft", "soft_z", "soft_share")
TOPICAL = (
    "vector_front", "vector_back", "vector_front_z", "vector_back_z", "central_front", "central_back", "aspect", "aspect_z",
    "company", "company_z", "company_back",
)  # fmt: skip
_WEIGHTIEST = 64
"""Terms of a request that are compared one by one."""
_BEST = 8
"""Candidates that stand for the right company."""


def nearest_words(
    query: Query, weights: Array, words: Sequences, rarity: Array, size: int, trained: Trained
) -> dict[str, Array]:
    """Each word of the request beside the word nearest to it. `weights` add up to one."""
    none = np.zeros(size, dtype=np.float32)
    if not trained.dimensions or not len(words.owner) or not len(query):
        return dict.fromkeys(NEAREST, none)
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


def topics(
    query: Query, library: Library, rows: Array, matched: Array, weights: Array, score: Array, trained: Trained
) -> dict[str, Array]:
    """Candidates as wholes. `matched` says by term and candidate whether it is there; `weights` add up to one."""
    if not trained.dimensions or not len(query) or not len(rows):
        return dict.fromkeys(TOPICAL, np.zeros(len(rows), dtype=np.float32))
    stored = library.vectors(rows).astype(np.float32).reshape(-1, trained.dimensions)
    stored /= np.maximum(np.sqrt(np.einsum("cd,cd->c", stored, stored)), 1e-6)[:, None]
    whole = np.einsum("cd,d->c", stored, trained.text_vector(query.hashes, query.counts)).reshape(-1, 2)
    top = np.argsort(-weights, kind="stable")[:_WEIGHTIEST]
    by_word = np.maximum(trained.beside(stored, trained.places(query.hashes[top])), 0).reshape(len(rows), 2, -1)
    there = matched[top].T
    share = weights[top]
    aspect = np.maximum(there, by_word.max(axis=1)) @ share
    return {
        "vector_front": whole[:, 0],
        "vector_back": whole[:, 1],
        "vector_front_z": standard(whole[:, 0]),
        "vector_back_z": standard(whole[:, 1]),
        "central_front": (by_word[:, 0] * there) @ share,
        "central_back": (by_word[:, 1] * there) @ share,
        "aspect": aspect,
        "aspect_z": standard(aspect),
    } | _company(stored, 3 * standard(score) + 1.5 * standard(whole[:, 0]))


def _company(stored: Array, promise: Array) -> dict[str, Array]:
    """How alike each candidate is to the most promising of the others."""
    best = np.argsort(-promise, kind="stable")[:_BEST]
    share = np.tile(np.exp(promise[best] - promise[best[0]]), (len(promise), 1))
    share[best, np.arange(len(best))] = 0  # nobody keeps himself company
    share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-6)
    sides = stored.reshape(len(promise), 2, -1)
    front, back = (np.einsum("ce,ce->c", product(sides[:, side], sides[best, side].T), share) for side in (0, 1))
    return {"company": front, "company_z": standard(front), "company_back": back}
