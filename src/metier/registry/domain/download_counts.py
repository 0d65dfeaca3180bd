"""Downloads, counted once for each identity and day, written once a second.

An identity is a keyed hash of a token or an address: it tells two visitors apart and nobody who they are. A crash loses
the last second of counts, and never a release.
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
_MOST_WAITING = 100_000
"""While the database is away. More than that is not counted; memory is worth more than a number."""


class DownloadCounter:
    def __init__(self, downloads: DownloadStore, clock: Callable[[], Millis], secret: bytes) -> None:
        self._downloads = downloads
        self._clock = clock
        self._secret = secret
        self._waiting: dict[tuple[int, str], str] = {}
        self._counted: set[tuple[int, str]] = set()
        self._identities: dict[str, str] = {}
        self._midnight = 0

    @classmethod
    async def start(cls, downloads: DownloadStore, accounts: AccountStore, clock: Callable[[], Millis]) -> DownloadCounter:
        """All workers hash with the same key, or one visitor would be several."""
        secret = await accounts.setting("identity-key", secrets.token_hex(32))
        return cls(downloads, clock, bytes.fromhex(secret))

    def count(self, package: int, version: str, caller: Caller) -> None:
        self._turn_the_page()
        key = (package, self._identity(f"token:{caller.token.id}" if caller.token else f"address:{caller.address}"))
        if key not in self._counted and len(self._waiting) < _MOST_WAITING:
            self._waiting[key] = version

    def _identity(self, who: str) -> str:
        known = self._identities.get(who)
        if known is None:
            known = hmac.digest(self._secret, who.encode(), hashlib.sha256).hex()[:32]
            if len(self._identities) < _MOST_WAITING:
                self._identities[who] = known
        return known

    async def flush(self) -> int:
        """Write what waits; what could not be written waits on."""
        self._turn_the_page()
        if not self._waiting:
            return 0
        waiting, self._waiting = self._waiting, {}
        try:
            day = datetime.fromtimestamp(self._clock() / 1000, UTC).date().isoformat()
            added = await self._downloads.count(day, [(package, version, who) for (package, who), version in waiting.items()])
        except UnavailableError:
            self._waiting = {**waiting, **self._waiting}
            return 0
        if len(self._counted) < _MOST_WAITING:
            self._counted.update(waiting)
        return added

    def _turn_the_page(self) -> None:
        now = self._clock()
        if now >= self._midnight:
            self._counted.clear()
            self._identities.clear()
            self._midnight = (now // _DAY_MS + 1) * _DAY_MS
