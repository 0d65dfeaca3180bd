"""Reads which entries of a numbered list a model chose, from an answer in any usual form.

It may be `3, 7`, `[3, 7]`, names, a list with reasons, JSON or a sentence, also after a part in which the model thinks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

__all__ = ["read_choice"]

_THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_NONE = re.compile(r"\W*(?:(?:answer|skills?)\W+)?(?:none|null|0\W*$|no (?:\w+ )?skills?)\b", re.IGNORECASE)
_FENCE = re.compile(r"^\s*```\w*\s*\n(.*?)\n\s*```\s*$", re.DOTALL)
_CLAUSE = re.compile(r"[.;!?](?:\s|$)|\n|\bbut\b", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|no|never|without|neither|nor|instead of|rather than)\b|n['’]t\b", re.IGNORECASE)
_ONLY_NUMBERS = re.compile(
    r"\W*(?:(?:answer|skills?|numbers?)\W+)?\d{1,3}(?:(?:[\s,;&#*.]|\band\b)+\d{1,3})*\W*", re.IGNORECASE
)
_NUMBER = re.compile(r"(?<![\w.-])(\d{1,3})(?![\w%-])(?!\.\d)")
_MARKED = re.compile(
    r"(?:#|\bno\.|\b(?:skills?|numbers?|choose|pick|select|answer|entry|option)\b[\s:#*is]*)(\d{1,3})\b", re.IGNORECASE
)


def read_choice(answer: object, names: Sequence[str]) -> list[int] | None:
    """Returns the places of the chosen names, in the answer's order and without duplicates.

    Returns None if the answer names nothing on the list and does not say "none".
    """
    if not isinstance(answer, str):
        return None
    text = _THOUGHT.sub("", answer)
    fenced = _FENCE.match(text)
    text = fenced[1] if fenced else text
    document = _json(text)
    if document is not None:
        said = list(_values(document))
        places = [place for one in said if (place := _place(one, names)) is not None]
        return list(dict.fromkeys(places)) if places or not any(said) else None
    if not names or _NONE.match(text):
        return []
    if _ONLY_NUMBERS.fullmatch(text):
        return _known(map(int, re.findall(r"\d+", text)), names) or None
    found = _by_name(text, names)
    return found if found is not None else _by_number(text, names)


def _place(said: object, names: Sequence[str]) -> int | None:
    if isinstance(said, str) and said in names:
        return names.index(said)
    if isinstance(said, str) and re.fullmatch(r"#?\d{1,3}", said.strip()):
        said = int(said.strip().lstrip("#"))
    return said - 1 if isinstance(said, int) and 1 <= said <= len(names) else None


def _known(numbers: Iterator[int], names: Sequence[str]) -> list[int]:
    return list(dict.fromkeys(number - 1 for number in numbers if 1 <= number <= len(names)))


def _by_name(text: str, names: Sequence[str]) -> list[int] | None:
    # The longest first, so that `pdf-forms` is not read as `pdf`.
    words = "|".join(re.escape(name) for name in sorted(set(names), key=len, reverse=True) if name)
    if not words:
        return None
    pattern = re.compile(rf"(?<![\w-])(?:(\d{{1,3}})[.:)]?[\s*`]+)?({words})(?![\w-])")

    def place(number: str, name: str) -> int:
        """Prefers the number, because two publishers may use one name."""
        named = int(number or 0) - 1
        return named if 0 <= named < len(names) and names[named] == name else names.index(name)

    clauses: list[tuple[bool, list[int]]] = []
    # A number before a name ends with a period, as a sentence does.
    for clause in _CLAUSE.split(re.sub(r"(?<![\w.])(\d{1,3})\.\s", r"\1) ", text)):
        hits = [place(number, name) for number, name in pattern.findall(clause)]
        clauses.append((bool(_NEGATION.search(pattern.sub("", clause))), hits))
    if not any(hits for _, hits in clauses):
        return None
    return list(dict.fromkeys(hit for is_negated, hits in clauses if not is_negated for hit in hits))


def _by_number(text: str, names: Sequence[str]) -> list[int] | None:
    clauses = [(bool(_NEGATION.search(clause)), clause) for clause in _CLAUSE.split(text)]
    # Other numbers of a sentence, as in "3, because there are 2 files", count only if none is marked as an answer.
    for pattern in (_MARKED, _NUMBER):
        found = [(is_negated, _known(map(int, pattern.findall(clause)), names)) for is_negated, clause in clauses]
        if any(places for _, places in found):
            return list(dict.fromkeys(place for is_negated, places in found if not is_negated for place in places))
    return None


def _json(text: str) -> object:
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, list | dict | str) else None


def _values(document: object) -> Iterator[object]:
    """The texts and numbers of a JSON value. Of an object, the values: `{"skills": ["pdf"]}`."""
    if isinstance(document, list | dict):
        for each in document.values() if isinstance(document, dict) else document:
            yield from _values(each)
    elif isinstance(document, str | int) and not isinstance(document, bool):
        yield document
