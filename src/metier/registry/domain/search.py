"""What a person typed, and the order of what an engine found for it.

The engine only recalls; the order is made here, so that every engine answers alike. Words come before numbers: the exact
name, then all words in the name, then in its tags, then in its description, then the rest. Downloads only break ties.
An exact name must be earned by a signature or by use, or the newest squatter of a common word would stand on top.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

from metier.errors import suggested_name
from metier.selection import split_words
from metier.values import dataclass

from .records import Package
from .search_terms import name_terms, plain_words, terms

__all__ = ["SearchQuery", "parse_query", "rank"]

_MOST_WORDS = 12
_EARNED = 10
_NAME, _TAG, _ABOUT, _PARTLY = 4.0, 2.5, 1.5, 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    text: str
    groups: tuple[tuple[str, ...], ...]
    """For each word, the terms it may stand for."""
    prefix: str
    """The last word may not be finished yet."""
    words: tuple[str, ...]
    """Those that could be misspelt."""

    @property
    def slug(self) -> str:
        return suggested_name(self.text)

    def corrected(self, spellings: dict[str, list[str]]) -> SearchQuery:
        """With words that are one slip away as further meanings of those that occur nowhere."""
        wrong = {terms(word): [terms(near) for near in others] for word, others in spellings.items()}
        groups = tuple(
            tuple(dict.fromkeys((*group, *(term for near in wrong.get(group, ()) for term in near)))) for group in self.groups
        )
        return SearchQuery(text=self.text, groups=groups, prefix=self.prefix, words=())


def parse_query(text: str) -> SearchQuery:
    typed = split_words(text[:400].replace("-", " ").replace("_", " "))[:_MOST_WORDS]
    # Stop words only count where there is nothing else.
    groups = tuple(group for word in typed if (group := terms(word))) or tuple(terms(word, whole=True) for word in typed)
    last = typed[-1].lower() if typed else ""
    prefix = last if last.isascii() and last.isalnum() and len(last) > 1 and groups and not text.endswith(" ") else ""
    return SearchQuery(text=text, groups=groups, prefix=prefix, words=plain_words(*typed))


def rank(query: SearchQuery, packages: Iterable[Package]) -> list[Package]:
    slug = query.slug
    return sorted(packages, key=lambda package: _key(query, slug, package))


def _key(query: SearchQuery, slug: str, package: Package) -> tuple[float | str, ...]:
    in_name, in_tags, in_about = _name_set(package.name), _text_set(package.tags), _text_set(package.description)
    found = [_found(group, in_name, in_tags, in_about) for group in query.groups]
    if query.prefix and not found[-1]:
        found[-1] = _PARTLY * _begun(query.prefix, in_name, in_tags, in_about)
    if package.name == slug and (package.signed or package.downloads >= _EARNED):
        tier = 0
    elif min(found) >= _NAME * _PARTLY:
        tier = 1
    elif min(found) >= _TAG * _PARTLY:
        tier = 2
    else:
        tier = 3 if min(found) > 0 else 4
    spare = len(in_name) if tier <= 1 else 0
    return (tier, -sum(found), spare, package.name != slug, -_bucket(package.downloads), package.name)


def _found(group: Sequence[str], name: frozenset[str], tags: frozenset[str], about: frozenset[str]) -> float:
    if not name.isdisjoint(group):
        return _NAME
    if not tags.isdisjoint(group):
        return _TAG
    return 0.0 if about.isdisjoint(group) else _ABOUT


def _begun(prefix: str, name: frozenset[str], tags: frozenset[str], about: frozenset[str]) -> float:
    for weight, held in ((_NAME, name), (_TAG, tags), (_ABOUT, about)):
        if any(term.startswith(prefix) for term in held):
            return weight
    return 0.0


def _bucket(downloads: int) -> int:
    """Powers of ten: a hundred more downloads say nothing about which of two fits better."""
    return int(math.log10(downloads + 1))


@lru_cache(maxsize=4096)
def _name_set(name: str) -> frozenset[str]:
    return frozenset(name_terms(name))


@lru_cache(maxsize=4096)
def _text_set(text: str) -> frozenset[str]:
    return frozenset(terms(text))
