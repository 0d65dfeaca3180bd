"""Parses a search query and ranks its candidates.

The engines only return candidates; the ranking happens here, so that all engines give the same order: the exact name, then
all words in the name, then in tags, then in the description, then the rest. Downloads only break ties. An exact name ranks
first only with a signature or enough downloads, so that squatting a common word does not pay.
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
_ESTABLISHED = 10
_NAME, _TAG, _ABOUT, _PARTLY = 4.0, 2.5, 1.5, 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    text: str
    groups: tuple[tuple[str, ...], ...]
    """For each word, its possible terms."""
    prefix: str
    """The last word, which may be incomplete."""
    words: tuple[str, ...]
    """Words that could be misspelt."""

    @property
    def slug(self) -> str:
        return suggested_name(self.text)

    def corrected(self, spellings: dict[str, list[str]]) -> SearchQuery:
        """Returns the query with similar words as alternatives to unknown words."""
        wrong = {terms(word): [terms(near) for near in others] for word, others in spellings.items()}
        groups = tuple(
            tuple(dict.fromkeys((*group, *(term for near in wrong.get(group, ()) for term in near)))) for group in self.groups
        )
        return SearchQuery(text=self.text, groups=groups, prefix=self.prefix, words=())


def parse_query(text: str) -> SearchQuery:
    typed = split_words(text[:400].replace("-", " ").replace("_", " "))[:_MOST_WORDS]
    # Stop words count only if there are no other words.
    groups = tuple(group for word in typed if (group := terms(word))) or tuple(terms(word, whole=True) for word in typed)
    last = typed[-1].lower() if typed else ""
    prefix = last if last.isascii() and last.isalnum() and len(last) > 1 and groups and not text.endswith(" ") else ""
    return SearchQuery(text=text, groups=groups, prefix=prefix, words=plain_words(*typed))


def rank(query: SearchQuery, packages: Iterable[Package]) -> list[Package]:
    slug = query.slug
    return sorted(packages, key=lambda package: _key(query, slug, package))


def _key(query: SearchQuery, slug: str, package: Package) -> tuple[float | str, ...]:
    in_name, in_tags, in_about = _name_set(package.name), _text_set(package.tags), _text_set(package.description)
    found = [_term_score(group, in_name, in_tags, in_about) for group in query.groups]
    if query.prefix and not found[-1]:
        found[-1] = _PARTLY * _prefix_score(query.prefix, in_name, in_tags, in_about)
    if package.name == slug and (package.signed or package.downloads >= _ESTABLISHED):
        tier = 0
    elif min(found) >= _NAME * _PARTLY:
        tier = 1
    elif min(found) >= _TAG * _PARTLY:
        tier = 2
    else:
        tier = 3 if min(found) > 0 else 4
    spare = len(in_name) if tier <= 1 else 0
    return (tier, -sum(found), spare, package.name != slug, -_bucket(package.downloads), package.name)


def _term_score(group: Sequence[str], name: frozenset[str], tags: frozenset[str], about: frozenset[str]) -> float:
    if not name.isdisjoint(group):
        return _NAME
    if not tags.isdisjoint(group):
        return _TAG
    return 0.0 if about.isdisjoint(group) else _ABOUT


def _prefix_score(prefix: str, name: frozenset[str], tags: frozenset[str], about: frozenset[str]) -> float:
    for weight, held in ((_NAME, name), (_TAG, tags), (_ABOUT, about)):
        if any(term.startswith(prefix) for term in held):
            return weight
    return 0.0


def _bucket(downloads: int) -> int:
    """Returns the power of ten: small differences in downloads do not matter."""
    return int(math.log10(downloads + 1))


@lru_cache(maxsize=4096)
def _name_set(name: str) -> frozenset[str]:
    return frozenset(name_terms(name))


@lru_cache(maxsize=4096)
def _text_set(text: str) -> frozenset[str]:
    return frozenset(terms(text))
