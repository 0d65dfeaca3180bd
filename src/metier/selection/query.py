"""A parsed request: its terms with their weights, and which of them are adjacent.

A request has two words or two pages. A repeated word counts only a little more, because otherwise a long request would be
about the words that it repeats.
"""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from metier.values import dataclass

from .arrays import Array
from .tokenization import split_sentences, split_words, term_hash, word_terms

__all__ = ["Query", "read_query"]

_REPEAT = 0.5
_KEYWORDS, _FEW_STOP_WORDS = 4, 0.08
"""A list of keywords has at least so many words, and fewer stop words than that."""
_SENTENCES = 40
_LONGEST = 20_000
"""Maximum number of characters; the rest of a longer request is usually attachments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    text: str
    terms: tuple[str, ...]
    written: tuple[str, ...]
    """Each term as the request first spells it."""
    hashes: Array
    """One per term, in order of first occurrence."""
    counts: Array
    weights: Array
    """Saturated counts: 1 for a term that occurs once."""
    spelling: Array
    """Indexed by term: in the first sentence, in the last, count, with digits, with a capital, all in capitals."""
    parts: Array
    """Indexed by sentence and term: 1 if it occurs there. A very long request has its first and last sentences only."""
    follows: Array
    """Square: True if the second term comes right after the first."""
    is_keywords: bool
    """True if it is a list of words and no sentence."""

    def __len__(self) -> int:
        return len(self.terms)


def read_query(text: str) -> Query:
    parts = [split_words(part) for part in split_sentences(text[:_LONGEST])]
    said_words = [word for part in parts for word in part]
    runs = [word_terms(word) for word in said_words]
    flat = Counter(term for run in runs for term in run)
    terms = tuple(flat)
    written: dict[str, str] = {}
    for word, run in zip(said_words, runs, strict=True):
        for number, term in enumerate(run):
            # A part of an identifier has no spelling of its own, so its stem stands for it.
            written.setdefault(term, word if number == 0 else term)
    place = {term: number for number, term in enumerate(terms)}
    follows = np.zeros((len(terms), len(terms)), dtype=bool)
    said = [run for run in runs if run]
    for left, right in itertools.pairwise(said):
        follows[place[left[-1]], place[right[0]]] = True
    counts = np.array(list(flat.values()), dtype=np.float32)
    stop_words = sum(not run for run in runs)
    return Query(
        text=text,
        terms=terms,
        written=tuple(written[term] for term in terms),
        hashes=np.array([term_hash(term) for term in terms], dtype=np.uint64),
        counts=counts,
        weights=(_REPEAT + 1) * counts / (_REPEAT + counts),
        spelling=_spelling(parts, runs, terms, written, counts),
        parts=_parts(parts, place),
        follows=follows,
        is_keywords=len(runs) >= _KEYWORDS and stop_words < _FEW_STOP_WORDS * len(runs),
    )


def _parts(said: list[list[str]], place: dict[str, int]) -> Array:
    chosen = [part for part in said if part]
    if len(chosen) > _SENTENCES:
        chosen = chosen[: _SENTENCES // 2] + chosen[-_SENTENCES // 2 :]
    found = np.zeros((max(1, len(chosen)), len(place)), dtype=np.float32)
    for line, part in enumerate(chosen):
        found[line, [place[term] for word in part for term in word_terms(word)]] = 1
    return found


def _spelling(
    parts: list[list[str]], runs: list[tuple[str, ...]], terms: tuple[str, ...], written: dict[str, str], counts: Array
) -> Array:
    said = [part for part in parts if part]
    first = {term for run in runs[: len(said[0])] for term in run} if said else set()
    last = {term for run in runs[len(runs) - len(said[-1]) :] for term in run} if said else set()
    opening = said[0][0] if said else ""
    flags = [
        (
            term in first,
            term in last,
            0.0,
            not (word := written[term]).isalpha() and any(map(str.isdigit, word)),
            word[0].isupper() and word != opening,
            word.isupper() and len(word) > 1,
        )
        for term in terms
    ]
    features = np.array(flags, dtype=np.float32).reshape(-1, 6)
    features[:, 2] = np.minimum(counts, 4) / 4
    return features
