"""Names, keywords and verbs as hashed phrases, so that a request is looked up and never compared skill by skill."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum

import numpy as np

from .container import Array
from .index_document import IndexDocument
from .tokenization import term_hash, words

__all__ = ["LONGEST", "PhraseKind", "normal_words", "phrase_rows", "phrases_in"]

LONGEST = 8
"""Words in a phrase; a longer one is matched by its first eight."""


class PhraseKind(IntEnum):
    NAME = 0
    KEYWORD = 1
    VERB = 2
    PATTERN = 3
    """Not a phrase: marks the rows whose patterns must be tried."""


def normal_words(text: str) -> list[str]:
    return words(text.lower())


def phrase_rows(documents: Sequence[IndexDocument]) -> tuple[Array, Array, Array]:
    """Hash, row and kind of every phrase, sorted."""
    found: set[tuple[int, int, int]] = set()
    for row, document in enumerate(documents):
        triggers = document.triggers
        for kind, phrases in (
            (PhraseKind.NAME, (document.name,)),
            (PhraseKind.KEYWORD, triggers.keywords),
            (PhraseKind.VERB, triggers.verbs),
        ):
            for phrase in phrases:
                if parts := normal_words(phrase):
                    found.add((term_hash(" ".join(parts[:LONGEST])), row, kind))
        if triggers.patterns:
            found.add((0, row, PhraseKind.PATTERN))
    ordered = sorted(found)
    hashes = np.array([entry[0] for entry in ordered], dtype=np.uint64)
    rows = np.array([entry[1] for entry in ordered], dtype=np.int32)
    return hashes, rows, np.array([entry[2] for entry in ordered], dtype=np.uint8)


def phrases_in(text: str) -> Iterator[tuple[str, int]]:
    """Every run of up to eight words, with the number of words in it."""
    parts = normal_words(text)
    for start in range(len(parts)):
        for length in range(1, min(LONGEST, len(parts) - start) + 1):
            yield " ".join(parts[start : start + length]), length
