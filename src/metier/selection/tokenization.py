"""Tokenization: words, identifiers and their parts, stems, sentences and clauses.

Skills use `camelCase` names, `kebab-case` tools, .NET and C++, so a word becomes a term as a whole *and* in parts. Scripts
without spaces, such as Chinese and Japanese, become pairs of characters, which needs no dictionary.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import lru_cache

from .stem import stem

__all__ = ["STOP_WORDS", "split_clauses", "split_sentences", "split_words", "term_hash", "word_terms"]

_WORD = re.compile(r"(?<![^\s(\[\"'`/])\.(?:NET|net)\b|[^\W_]+(?:\+\+|#(?!\w))?")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+|\s[-•–—]\s")
_CLAUSE_END = re.compile(r"""[,;:()"“”'‘’/.!?]+\s+["(“'‘]*|\s+["(“'‘]+|\n+|\s[-–—]\s""")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0e7f]+")

STOP_WORDS = frozenset(
    """
    a about all also am an and any are as at be been being both but by can could did do does done for from get had
    has have he her here him his how i if in into is it its just let like may me might more most must my no nor not
    of off on one or our out own please s she should so some such t than that the their them then there these they
    this those to too up us very was we were what when where which while who will with would you your re ve ll d m
    don doesn didn isn
    """.split()  # noqa: SIM905  (a paragraph is easier to read than a column)
)
"""Words that are not indexed: they have the longest postings and the least information."""


def split_words(text: str) -> list[str]:
    """Returns the words as written; the case shows where an identifier is joined."""
    return _WORD.findall(text)


@lru_cache(maxsize=1 << 16)
def word_terms(word: str) -> tuple[str, ...]:
    """Returns the stems of one word: the whole word first, then the parts of an identifier."""
    low = word.lower()
    if not word.isascii():
        return _foreign_terms(low)
    if low in STOP_WORDS:
        return ()
    whole = stem(low)
    if word.isalpha() and (word.islower() or word.isupper() or word.istitle()):
        return (whole,)
    parts = (stem(part.lower()) for part in _PARTS.findall(word) if len(part) > 1)
    return tuple(dict.fromkeys((whole, *(part for part in parts if part not in STOP_WORDS))))


def split_sentences(text: str) -> list[str]:
    return [part for part in _SENTENCE_END.split(text) if part and not part.isspace()]


def split_clauses(text: str) -> list[str]:
    """Splits a text into parts of sentences: items of a list, quoted parts, and the rest."""
    return [part for part in _CLAUSE_END.split(text) if part and not part.isspace()]


def term_hash(term: str) -> int:
    """Returns 64 bits that are the same in every process, so that an index needs no dictionary of strings."""
    return int.from_bytes(hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _foreign_terms(low: str) -> tuple[str, ...]:
    found: list[str] = []
    for run in _UNSPACED.findall(low):
        found.extend(run[start : start + 2] for start in range(max(1, len(run) - 1)))
    for piece in _UNSPACED.sub(" ", low).split():
        # Accents are removed, because many people leave them out. Other scripts stay as they are.
        plain = "".join(char for char in unicodedata.normalize("NFKD", piece) if not unicodedata.combining(char))
        if plain and plain not in STOP_WORDS:
            found.append(stem(plain))
    return tuple(dict.fromkeys(found))
