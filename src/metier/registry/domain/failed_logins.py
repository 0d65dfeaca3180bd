"""Failed logins in the audit log: the first of each address, token and reason in an hour, and a bounded number in all."""

from __future__ import annotations

from collections.abc import Callable

from .access import UnauthenticatedError
from .protocols import AccountStore
from .records import AuditEvent, Millis
from .tokens import token_prefix

__all__ = ["FailedLogins"]

_WINDOW_MS = 3_600_000
_MOST_RECORDED = 200
"""Entries in an hour. Without a bound, a client without a token could fill the log."""


class FailedLogins:
    def __init__(self, accounts: AccountStore, clock: Callable[[], Millis]) -> None:
        self._accounts = accounts
        self._clock = clock
        self._window = 0
        self._seen: set[tuple[str, str, str]] = set()

    async def record(self, text: str, *, address: str, error: UnauthenticatedError) -> None:
        """Records that this token text was refused."""
        now = self._clock()
        if now // _WINDOW_MS != self._window:
            self._window = now // _WINDOW_MS
            self._seen.clear()
        prefix, reason = token_prefix(text), str(error)
        key = (address, prefix, reason)
        if key in self._seen or len(self._seen) > _MOST_RECORDED:
            return
        self._seen.add(key)
        if len(self._seen) > _MOST_RECORDED:
            reason = "more failures; the rest of this hour is not recorded"
        subject = f"token:{prefix}" if prefix else "token"
        await self._accounts.add_event(AuditEvent(now, "anonymous", "login-failed", subject, reason, prefix, address))
