"""Counts downloads once per identity and day, and writes the counts once a second.

An identity is a keyed hash of a token or an address, so it distinguishes clients without identifying them. A crash loses the
counts of the last second.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from datetime import UTC, datetime

from metier.errors import UnavailableError

from .access import Caller
from .protocols import AccountStore, DownloadStore
from .records import Millis

__all__ = ["DownloadCounter"]

_DAY_MS = 86_400_000
_MAX_PENDING = 100_000
"""Pending counts while the database is unavailable. More downloads are not counted, to bound memory."""


class DownloadCounter:
    def __init__(self, downloads: DownloadStore, clock: Callable[[], Millis], secret: bytes) -> None:
        self._downloads = downloads
        self._clock = clock
        self._secret = secret
        self._pending: dict[tuple[int, str], str] = {}
        self._counted: set[tuple[int, str]] = set()
        self._identities: dict[str, str] = {}
        self._midnight = 0

    @classmethod
    async def start(cls, downloads: DownloadStore, accounts: AccountStore, clock: Callable[[], Millis]) -> DownloadCounter:
        """Loads the hash key, which all workers share."""
        secret = await accounts.setting("identity-key", secrets.token_hex(32))
        return cls(downloads, clock, bytes.fromhex(secret))

    def count(self, package: int, version: str, caller: Caller) -> None:
        self._start_new_day()
        key = (package, self._identity(f"token:{caller.token.id}" if caller.token else f"address:{caller.address}"))
        if key not in self._counted and len(self._pending) < _MAX_PENDING:
            self._pending[key] = version

    def _identity(self, client: str) -> str:
        known = self._identities.get(client)
        if known is None:
            known = hmac.digest(self._secret, client.encode(), hashlib.sha256).hex()[:32]
            if len(self._identities) < _MAX_PENDING:
                self._identities[client] = known
        return known

    async def flush(self) -> int:
        """Writes pending counts. Counts that could not be written stay pending."""
        self._start_new_day()
        if not self._pending:
            return 0
        pending, self._pending = self._pending, {}
        try:
            day = datetime.fromtimestamp(self._clock() / 1000, UTC).date().isoformat()
            added = await self._downloads.count(day, [(package, version, who) for (package, who), version in pending.items()])
        except UnavailableError:
            self._pending = {**pending, **self._pending}
            return 0
        if len(self._counted) < _MAX_PENDING:
            self._counted.update(pending)
        return added

    def _start_new_day(self) -> None:
        now = self._clock()
        if now >= self._midnight:
            self._counted.clear()
            self._identities.clear()
            self._midnight = (now // _DAY_MS + 1) * _DAY_MS
