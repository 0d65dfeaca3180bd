"""A parsed request: its terms with their weights, and which of them are adjacent.

A request has two words or two pages. A repeated word counts only a little more, because otherwise a long request would be
about the words that it repeats.
"""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from metier.values import dataclass, replace

from .arrays import Array
from .tokenization import split_sentences, split_words, term_hash, word_terms
from .translation import TranslatedWord, find_language, translate_request

__all__ = ["Query", "read_own_words", "read_query"]

_REPEAT = 0.5
_KEYWORDS, _FEW_STOP_WORDS = 4, 0.08
"""A list of keywords has at least so many words, and fewer stop words than that."""
_SENTENCES = 40
_LONGEST = 20_000
"""Maximum number of characters; the rest of a longer request is usually attachments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    text: str
    """In English words if the request is in another language."""
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
    own_words: tuple[tuple[TranslatedWord, ...], ...] = ()
    """The sentences of a request in another language, for skills that are written in it; empty for English."""

    def own_hashes(self) -> Array:
        """Returns the hashes of the words that only a skill in the language of the request has."""
        own = {word.own for sentence in self.own_words for word in sentence if word.own}
        terms = {term for text in own for part in split_words(text) for term in word_terms(part)}
        return np.array([term_hash(term) for term in sorted(terms)], dtype=np.uint64)

    def __len__(self) -> int:
        return len(self.terms)


def read_query(text: str) -> Query:
    asked = text[:_LONGEST]
    language = find_language(asked)
    if language:
        return _read_translated(text, translate_request(asked, language))
    parts = [split_words(part) for part in split_sentences(asked)]
    said_words = [word for part in parts for word in part]
    runs = [word_terms(word) for word in said_words]
    written: dict[str, str] = {}
    for word, run in zip(said_words, runs, strict=True):
        for number, term in enumerate(run):
            # A part of an identifier has no spelling of its own, so its stem stands for it.
            written.setdefault(term, word if number == 0 else term)
    return _assemble(text, parts, runs, runs, written)


def _read_translated(text: str, sentences: list[list[TranslatedWord]]) -> Query:
    """Reads a request in another language: its English words enter as if they had been asked, with the weights of the table."""
    said = [word for sentence in sentences for word in sentence]
    weighted = [word.terms() for word in said]
    shares: dict[str, float] = {}
    labels: dict[str, str] = {}
    for word, terms in zip(said, weighted, strict=True):
        for term, (share, english) in terms.items():
            shares[term] = max(share, shares.get(term, 0.0))
            is_same = not word.is_translated or english == word.written.lower()
            labels.setdefault(term, word.written if is_same else f"{word.written} ({english})")
    runs = [tuple(terms) for terms in weighted]
    # Translated words have no spelling of their own: German nouns have capitals, Chinese has none.
    spelt = {term: term if word.is_translated else word.written for word, run in zip(said, runs, strict=True) for term in run}
    parts = [[word.written for word in sentence] for sentence in sentences]
    query = _assemble(text, parts, runs, [word.first_terms() for word in said], spelt)
    weights = query.weights * np.array([shares[term] for term in query.terms], dtype=np.float32)
    in_english = " ".join(word.meaning[0][0] for word in said)
    written = tuple(labels[term] for term in query.terms)
    own_words = tuple(map(tuple, sentences))
    # Words without a translation and stop words are left out, so what remains looks like a list of keywords.
    return replace(query, text=in_english, weights=weights, written=written, own_words=own_words, is_keywords=False)


def read_own_words(query: Query) -> Query:
    """Reads a request in another language again, by the words of that language."""
    parts = [[word.written for word in sentence] for sentence in query.own_words]
    said = [word for sentence in query.own_words for word in sentence]
    runs = [tuple(term for part in split_words(word.own or word.written) for term in word_terms(part)) for word in said]
    written = {term: word.written for word, run in zip(said, runs, strict=True) for term in run}
    return replace(_assemble(query.text, parts, runs, runs, written), is_keywords=False)


def _assemble(
    text: str, parts: list[list[str]], runs: list[tuple[str, ...]], in_order: list[tuple[str, ...]], written: dict[str, str]
) -> Query:
    """`runs` are the terms of each word, `in_order` those of them that follow each other in the text."""
    flat = Counter(term for run in runs for term in run)
    terms = tuple(flat)
    place = {term: number for number, term in enumerate(terms)}
    follows = np.zeros((len(terms), len(terms)), dtype=bool)
    said = [run for run in in_order if run]
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
        parts=_parts(parts, runs, place),
        follows=follows,
        is_keywords=len(runs) >= _KEYWORDS and stop_words < _FEW_STOP_WORDS * len(runs),
    )


def _parts(said: list[list[str]], runs: list[tuple[str, ...]], place: dict[str, int]) -> Array:
    rest = iter(runs)
    chosen = [[next(rest) for _ in part] for part in said if part]
    if len(chosen) > _SENTENCES:
        chosen = chosen[: _SENTENCES // 2] + chosen[-_SENTENCES // 2 :]
    found = np.zeros((max(1, len(chosen)), len(place)), dtype=np.float32)
    for line, part in enumerate(chosen):
        found[line, [place[term] for run in part for term in run]] = 1
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
