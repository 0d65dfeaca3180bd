"""Why a skill was found, in the words of the request."""

from __future__ import annotations

from .query import Query
from .segment import BODY, HEADINGS, NAME, NEGATIVE, PURPOSE
from .signals import Evidence
from .trigger_matches import TriggerMatch

__all__ = ["reason"]

_SAID_OF = ((NAME, "name"), (PURPOSE, "description"), (HEADINGS, "headings"), (BODY, "body"))
_MOST = 4
"""Phrases named a field: the reader wants a reason, not a list."""


def reason(query: Query, evidence: Evidence, place: int, call: TriggerMatch) -> str:
    parts = list(dict.fromkeys(call.reasons))
    bits = [(number, bit) for number, bit in enumerate(evidence.matched[:, place].tolist()) if bit]
    weights = evidence.weights.tolist()
    told: set[int] = set()
    for field, label in _SAID_OF:
        terms = [number for number, bit in bits if bit >> field & 1 and number not in told]
        if terms:
            told.update(terms)
            parts.append(f"{label}: {_listed(query, weights, terms)}")
    against = [number for number, bit in bits if bit == 1 << NEGATIVE]
    if against:
        parts.append(f"but it says not for: {_listed(query, weights, against)}")
    if not parts:
        parts.append("similar in meaning")
    return "; ".join(parts)


def _listed(query: Query, weights: list[float], terms: list[int]) -> str:
    """The weightiest terms as written, neighbours of the request joined."""
    runs: list[list[int]] = []
    for number in terms:
        if runs and runs[-1][-1] + 1 == number and query.follows[runs[-1][-1], number]:
            runs[-1].append(number)
        else:
            runs.append([number])
    if len(runs) > 1:
        runs.sort(key=lambda run: -sum(weights[number] for number in run))
    phrases = [" ".join(query.written[number] for number in run) for run in runs[:_MOST]]
    more = f" and {len(runs) - _MOST} more" if len(runs) > _MOST else ""
    return ", ".join(f"'{phrase}'" for phrase in phrases) + more
