"""Sessions of the pages. The browser holds a random text, the database its hash and the token that it stands for.

A session ends with its token, at logout, or after two weeks. Every login starts a new one.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable

from .access import Caller
from .protocols import PageSessionStore
from .records import Millis
from .tokens import hash_secret

__all__ = ["PageSessions"]

_TEXT = re.compile(r"[A-Za-z0-9_-]{43}")
_LIFETIME_MS = 14 * 86_400_000
_MOST_TRIED = 8
"""A browser may send several cookies of one name, set for other paths or by sibling hosts."""


class PageSessions:
    def __init__(self, store: PageSessionStore) -> None:
        self._store = store

    async def start(self, caller: Caller, *, now: Millis) -> tuple[str, int]:
        """Returns the text of a new session for the caller's token, and its lifetime in seconds."""
        caller.require(True, "log in", scope="read")
        token = caller.token
        if token is None:
            raise AssertionError("require raises without a token")
        expires = min(now + _LIFETIME_MS, token.expires or now + _LIFETIME_MS)
        text = secrets.token_urlsafe(32)
        event = caller.event(now, "login", f"token:{token.prefix}")
        await self._store.add_session(hash_secret(text), token.id, expires=expires, event=event)
        return text, (expires - now) // 1000

    async def authenticate(self, texts: Iterable[str], *, address: str, now: Millis) -> Caller | None:
        """Returns the caller of the first text that is a session, or None."""
        for text in _candidates(texts):
            token = await self._store.session(hash_secret(text), now=now)
            if token is not None and token.revoked is None and (token.expires is None or token.expires > now):
                return Caller(token, address)
        return None

    async def end(self, caller: Caller, texts: Iterable[str], *, now: Millis) -> None:
        """Ends the sessions with these texts."""
        event = caller.event(now, "logout", f"token:{caller.token.prefix}" if caller.token else "session")
        for text in _candidates(texts):
            await self._store.end_session(hash_secret(text), event=event)


def _candidates(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if _TEXT.fullmatch(text)][:_MOST_TRIED]
