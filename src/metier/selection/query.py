"""A request, read: its terms with their weight, and which of them stand beside each other.

Requests are two words or two pages. A word said twice matters little more than once, or a long
request would be about whatever it repeats.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

import numpy as np

from .container import Array
from .tokenization import split_sentences, term_hash, word_terms, words

__all__ = ["Query", "read_query"]

_REPEAT = 0.5
_SENTENCES = 40
_LONGEST = 20_000
"""Characters that are read; the rest of a longer request is its attachments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    text: str
    terms: tuple[str, ...]
    written: tuple[str, ...]
    """Each term as the request first wrote it."""
    hashes: Array
    """One for each term, in order of first appearance."""
    counts: Array
    weights: Array
    """Count, saturated: 1 for a word said once."""
    manner: Array
    """By term: said in the first sentence, in the last, how often, with digits, with a capital, all in capitals."""
    parts: Array
    """By sentence and term: is it said there? Of a very long request, the first and the last sentences."""
    follows: Array
    """Square: does the second term come right after the first?"""

    def __len__(self) -> int:
        return len(self.terms)


def read_query(text: str) -> Query:
    parts = [words(part) for part in split_sentences(text[:_LONGEST])]
    said_words = [word for part in parts for word in part]
    runs = [word_terms(word) for word in said_words]
    flat = Counter(term for run in runs for term in run)
    terms = tuple(flat)
    written: dict[str, str] = {}
    for word, run in zip(said_words, runs, strict=True):
        for number, term in enumerate(run):
            # A part of an identifier has no writing of its own but its stem.
            written.setdefault(term, word if number == 0 else term)
    place = {term: number for number, term in enumerate(terms)}
    follows = np.zeros((len(terms), len(terms)), dtype=bool)
    said = [run for run in runs if run]
    for left, right in itertools.pairwise(said):
        follows[place[left[-1]], place[right[0]]] = True
    counts = np.array(list(flat.values()), dtype=np.float32)
    return Query(
        text=text,
        terms=terms,
        written=tuple(written[term] for term in terms),
        hashes=np.array([term_hash(term) for term in terms], dtype=np.uint64),
        counts=counts,
        weights=(_REPEAT + 1) * counts / (_REPEAT + counts),
        manner=_manner(parts, runs, terms, written, counts),
        parts=_parts(parts, place),
        follows=follows,
    )


def _parts(said: list[list[str]], place: dict[str, int]) -> Array:
    chosen = [part for part in said if part]
    if len(chosen) > _SENTENCES:
        chosen = chosen[: _SENTENCES // 2] + chosen[-_SENTENCES // 2 :]
    found = np.zeros((max(1, len(chosen)), len(place)), dtype=np.float32)
    for line, part in enumerate(chosen):
        found[line, [place[term] for word in part for term in word_terms(word)]] = 1
    return found


def _manner(
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
    manner = np.array(flags, dtype=np.float32).reshape(-1, 6)
    manner[:, 2] = np.minimum(counts, 4) / 4
    return manner
