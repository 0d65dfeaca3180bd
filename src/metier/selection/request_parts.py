"""Requests for several kinds of work: "plot the sales, then write a letter to the customer".

One skill answers a request. Another one joins it only for a part that could be a request of its own and that the first skill
does not cover.
"""

from __future__ import annotations

import re

from .arrays import Array
from .query import Query, read_query
from .segment import NEGATIVE
from .tokenization import split_words, word_terms

__all__ = ["open_parts", "split_request"]

_VERBS = (
    "add|analy[sz]e|apply|ask|audit|book|build|check|clean|compare|convert|copy|create|debug|deploy|design|document|draft|draw|"
    "edit|email|evaluate|explain|export|extract|fill|find|fix|format|generate|help|import|install|investigate|make|measure|"
    "merge|migrate|optimi[sz]e|plan|plot|post|prepare|publish|refactor|release|remove|rename|research|review|rewrite|run|scan|"
    "schedule|scrape|send|set up|ship|show|sort|summari[sz]e|test|translate|update|upload|verify|write"
)
_JOINT = re.compile(
    r"\s*(?:[.;,:]\s*)?(?:\band\s+)?\b(?:then|also|afterwards|after that|finally|in addition|next)\b[,:]?\s+"
    rf"|;\s+|[,.]?\s+and\s+(?=(?:{_VERBS})\b)|\.\s+(?=(?:please\s+)?(?:{_VERBS})\b)",
    re.IGNORECASE,
)
"""The place where one kind of work ends and another may begin."""
_LONGEST = 600
"""Characters; a longer request is the specification of one piece of work."""
_MAX_PARTS = 4
_COVERS_ALL = 0.85
"""Share of the request's weight from which no part of it is left open."""
_AGAINST = 1 << NEGATIVE
_COVERED = 0.5
"""Share of a part's weight from which a skill covers it."""


def split_request(text: str) -> list[str]:
    """Returns the parts that could be requests of their own; none if there is only one."""
    if len(text) > _LONGEST:
        return []
    parts = [part for part in _JOINT.split(text) if sum(bool(word_terms(word)) for word in split_words(part)) >= 2]
    return parts if 2 <= len(parts) <= _MAX_PARTS else []


def open_parts(query: Query, matched: Array, weights: Array) -> list[str]:
    """Returns the parts that a skill leaves open, if it covers another one.

    `matched` tells for each term of the request in which fields of the skill it is, as bits.
    """
    is_found = (matched | _AGAINST) != _AGAINST
    # Most skills cover their request, and to split it costs more than to see that.
    parts = split_request(query.text) if float(weights @ is_found) < _COVERS_ALL * float(weights.sum()) else []
    if not parts:
        return []
    worth = dict(zip(query.terms, weights.tolist(), strict=True))
    found = dict(zip(query.terms, is_found.tolist(), strict=True))
    shares = []
    for part in parts:
        terms = [term for term in read_query(part).terms if term in worth]
        total = sum(worth[term] for term in terms)
        shares.append(sum(worth[term] for term in terms if found[term]) / total if total else 1.0)
    return [part for part, share in zip(parts, shares, strict=True) if share < _COVERED <= max(shares)]
