"""The words of a package as the search index keeps them, and the ways to misspell them.

Stemming happens here and not in an engine, so that SQLite and PostgreSQL hold the same terms and find the same packages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from metier.selection import STOP_WORDS, split_words, word_terms

__all__ = ["BODY_WORDS", "document_terms", "forms", "is_one_slip", "name_terms", "plain_words", "terms"]

BODY_WORDS = 600
"""Of a body, that many words from its start: what a skill is for is said early, and the index stays small."""
_LONGEST = 40
_SYMBOLS = str.maketrans({"+": "plus", "#": "sharp"})
_WORD = re.compile(r"[a-z][a-z0-9]{3,23}")


def terms(text: str, *, most: int | None = None, whole: bool = False) -> tuple[str, ...]:
    """Each term once, in the order of the text; `whole` with stop words."""
    found = (
        term
        for word in split_words(text)[:most]
        for term in (word_terms(word[:_LONGEST]) or ((word[:_LONGEST].lower(),) if whole else ()))
    )
    return tuple(dict.fromkeys(_plain(term) for term in found))


def _plain(term: str) -> str:
    """ASCII letters and digits, whatever it was: which other characters make a word, no two engines agree on."""
    spelt = term.translate(_SYMBOLS)
    return spelt if spelt.isascii() and spelt.isalnum() else f"u{spelt.encode('utf-8', 'surrogatepass').hex()}"


def name_terms(name: str) -> tuple[str, ...]:
    """Of a name every word counts: somebody called a skill `all-in-one`."""
    return terms(name.replace("-", " "), whole=True)


def document_terms(name: str, tags: Iterable[str], description: str, body: str) -> tuple[tuple[str, ...], ...]:
    """Name, tags, description, body. Each term stands where it says most, and only there."""
    columns: list[tuple[str, ...]] = []
    seen: set[str] = set()
    for found in (name_terms(name), terms(" ".join(tags)), terms(description), terms(body, most=BODY_WORDS)):
        columns.append(tuple(term for term in found if term not in seen))
        seen.update(found)
    return tuple(columns)


def plain_words(*texts: str) -> tuple[str, ...]:
    """Words that a person may mistype: of four letters and more, for shorter ones are too near to each other."""
    found = (word for text in texts for word in _WORD.findall(text.lower()))
    return tuple(sorted({word for word in found if word not in STOP_WORDS}))


def forms(word: str) -> Iterator[str]:
    """The word, and the word with any one letter left out. Two words that share a form are at most two slips apart."""
    yield word
    for place in range(len(word)):
        if place == 0 or word[place] != word[place - 1]:
            yield word[:place] + word[place + 1 :]


def is_one_slip(one: str, other: str) -> bool:
    """Is one letter missing, added, exchanged or swapped with its neighbour?"""
    if abs(len(one) - len(other)) > 1 or one == other:
        return one == other
    start = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    a, b = one[start:], other[start:]
    if len(a) == len(b):
        return a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
    return a[1:] == b if len(a) > len(b) else a == b[1:]
