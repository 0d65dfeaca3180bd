"""Intervals of rates. A rate of a few runs says little, so every rate of an agent is shown with its interval."""

from __future__ import annotations

import math

__all__ = ["decided_by", "wilson_interval"]

_Z = 1.959964
"""For 95 %."""


def wilson_interval(hits: int, runs: int) -> tuple[float, float]:
    """Returns the 95 % interval of a rate by Wilson's score, which also holds for few runs and for rates of 0 and 1."""
    if runs == 0:
        return 0.0, 1.0
    rate, square = hits / runs, _Z * _Z
    middle = (rate + square / (2 * runs)) / (1 + square / runs)
    half = _Z / (1 + square / runs) * math.sqrt(rate * (1 - rate) / runs + square / (4 * runs * runs))
    return max(0.0, middle - half), min(1.0, middle + half)


def decided_by(hits: int, runs: int) -> bool | None:
    """Returns True if the whole interval is above one half, False if it is below, and None if it holds it."""
    low, high = wilson_interval(hits, runs)
    return True if low > 0.5 else False if high < 0.5 else None
