"""How often one visitor may ask. Counted by the minute and by worker, in memory: exact enough, and free of another server."""

from __future__ import annotations

from collections.abc import Callable

from metier.registry.domain.registry import RequestRates

from .responses import Headers

__all__ = ["Allowed", "RateLimiter"]

Allowed = tuple[int, int, int]
"""Limit, what remains, seconds until it starts again. Nothing remains below zero."""
_WINDOW = 60
_MOST_BAD = 60


class RateLimiter:
    def __init__(self, rates: RequestRates, seconds: Callable[[], float]) -> None:
        self._rates = {"read": rates.read, "download": rates.download, "write": rates.write, "bad": (_MOST_BAD, _MOST_BAD)}
        self._seconds = seconds
        self._window = 0
        self._counts: dict[tuple[str, str], int] = {}

    def take(self, rate: str, who: str, *, has_token: bool) -> Allowed | None:
        """Count one more request; None if there is no limit."""
        limit = self._rates[rate][has_token]
        if not limit:
            return None
        now = int(self._seconds())
        if now // _WINDOW != self._window:
            self._window = now // _WINDOW
            self._counts.clear()
        key = (rate, who)
        count = self._counts[key] = self._counts.get(key, 0) + 1
        return limit, limit - count, _WINDOW - now % _WINDOW

    def seen(self, rate: str, who: str) -> Allowed | None:
        """The same without counting."""
        limit = self._rates[rate][0]
        now = int(self._seconds())
        if now // _WINDOW != self._window:
            return None
        return limit, limit - self._counts.get((rate, who), 0), _WINDOW - now % _WINDOW


def as_headers(allowed: Allowed) -> Headers:
    limit, left, reset = allowed
    return (
        (b"ratelimit-limit", b"%d" % limit),
        (b"ratelimit-remaining", b"%d" % max(left, 0)),
        (b"ratelimit-reset", b"%d" % reset),
    )
