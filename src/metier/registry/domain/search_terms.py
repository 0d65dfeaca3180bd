"""The terms of the search index, and the spelling forms that correct typos.

Stemming happens here and not in the engines, so that SQLite and PostgreSQL index the same terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from metier.selection import STOP_WORDS, split_words, word_terms

__all__ = ["BODY_WORDS", "document_terms", "forms", "is_one_slip", "name_terms", "plain_words", "spelling_words", "terms"]

BODY_WORDS = 600
"""Number of words indexed from the start of a body."""
_LONGEST = 40
_MOST_SPELLINGS = 200
_SYMBOLS = str.maketrans({"+": "plus", "#": "sharp"})
_WORD = re.compile(r"[a-z][a-z0-9]{3,23}")


def terms(text: str, *, most: int | None = None, whole: bool = False) -> tuple[str, ...]:
    """Returns each term once, in the order of the text; `whole` includes stop words."""
    found = (
        term
        for word in split_words(text)[:most]
        for term in (word_terms(word[:_LONGEST]) or ((word[:_LONGEST].lower(),) if whole else ()))
    )
    return tuple(dict.fromkeys(_plain(term) for term in found))


def _plain(term: str) -> str:
    """Encodes a term as ASCII letters and digits, because the engines split other characters differently."""
    spelt = term.translate(_SYMBOLS)
    return spelt if spelt.isascii() and spelt.isalnum() else f"u{spelt.encode('utf-8', 'surrogatepass').hex()}"


def name_terms(name: str) -> tuple[str, ...]:
    """Returns the terms of a name including stop words, for names such as `all-in-one`."""
    return terms(name.replace("-", " "), whole=True)


def document_terms(name: str, tags: Iterable[str], description: str, body: str) -> tuple[tuple[str, ...], ...]:
    """Returns the terms of name, tags, description and body. Each term is listed only in the first of them."""
    columns: list[tuple[str, ...]] = []
    seen: set[str] = set()
    for found in (name_terms(name), terms(" ".join(tags)), terms(description), terms(body, most=BODY_WORDS)):
        columns.append(tuple(term for term in found if term not in seen))
        seen.update(found)
    return tuple(columns)


def plain_words(*texts: str) -> tuple[str, ...]:
    """Returns the words of four letters and more, which typo correction considers."""
    found = (word for text in texts for word in _WORD.findall(text.lower()))
    return tuple(sorted({word for word in found if word not in STOP_WORDS}))


def spelling_words(name: str, tags: str, description: str) -> tuple[str, ...]:
    """Returns the words of a package that correct typos."""
    return plain_words(name.replace("-", " "), tags, description)[:_MOST_SPELLINGS]


def forms(word: str) -> Iterator[str]:
    """Yields the word, and the word without each of its letters. Words that share a form differ by at most two edits."""
    yield word
    for place in range(len(word)):
        if place == 0 or word[place] != word[place - 1]:
            yield word[:place] + word[place + 1 :]


def is_one_slip(one: str, other: str) -> bool:
    """Returns whether the words are equal or differ by one missing, added, replaced or swapped letter."""
    if abs(len(one) - len(other)) > 1 or one == other:
        return one == other
    start = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    a, b = one[start:], other[start:]
    if len(a) == len(b):
        return a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
    return a[1:] == b if len(a) > len(b) else a == b[1:]
