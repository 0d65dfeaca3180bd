"""Rate limits, counted per minute and per worker in memory."""

from __future__ import annotations

from collections.abc import Callable

from metier.registry.domain.registry import RequestRates

from .responses import Headers

__all__ = ["Allowed", "RateLimiter"]

Allowed = tuple[int, int, int]
"""Limit, remaining requests (negative when exceeded), and seconds until the next window."""
_WINDOW = 60
_MAX_FAILED = 60
_MOST_CLIENTS = 100_000
_REPORTS = (10, 60)
"""Reports per minute, from one address and with one token."""


class RateLimiter:
    def __init__(self, rates: RequestRates, seconds: Callable[[], float]) -> None:
        self._rates = {
            "read": rates.read,
            "download": rates.download,
            "write": rates.write,
            "report": _REPORTS,
            "failed": (_MAX_FAILED, _MAX_FAILED),
        }
        self._seconds = seconds
        self._window = 0
        self._counts: dict[tuple[str, str], int] = {}

    def take(self, rate: str, client: str, *, has_token: bool) -> Allowed | None:
        """Counts one request. Returns None if there is no limit."""
        limit = self._rates[rate][has_token]
        if not limit:
            return None
        now = int(self._seconds())
        if now // _WINDOW != self._window:
            self._window = now // _WINDOW
            self._counts.clear()
        key = (rate, client)
        if len(self._counts) >= _MOST_CLIENTS and key not in self._counts:
            # More clients than one worker has in a minute: the rest share one count, so that memory stays bounded.
            key = (rate, "")
        count = self._counts[key] = self._counts.get(key, 0) + 1
        return limit, limit - count, _WINDOW - now % _WINDOW


def as_headers(allowed: Allowed) -> Headers:
    limit, left, reset = allowed
    return (
        (b"ratelimit-limit", b"%d" % limit),
        (b"ratelimit-remaining", b"%d" % max(left, 0)),
        (b"ratelimit-reset", b"%d" % reset),
    )
