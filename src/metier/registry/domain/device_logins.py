"""Login of a device without a browser (RFC 8628): it shows a code, a person approves it on a page, and it fetches a token.

The token is created when the device asks for it, with the rights that the person has at that moment. So no text of a token is
ever stored, and a person who is disabled in between gives no access.
"""

from __future__ import annotations

import re
import secrets

from metier.errors import MetierError, NotFoundError
from metier.values import dataclass

from .access import Caller
from .protocols import DeviceLoginStore
from .records import DeviceLogin, Millis
from .tokens import Tokens, check_scopes, covers, hash_secret

__all__ = ["DeviceCodes", "DeviceLoginError", "DeviceLogins"]

INTERVAL_SECONDS = 5
_LIFETIME_MS = 600_000
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""Without vowels, so that no code is a word (RFC 8628, 6.1)."""
_DEFAULT_DAYS = 90


class DeviceLoginError(MetierError):
    """An answer of the token endpoint; the code is one of RFC 8628, 3.5."""

    code = "device-login"

    def __init__(self, error: str, message: str) -> None:
        super().__init__(message, hint="run `metier login` again")
        self.error = error


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCodes:
    device_code: str
    user_code: str
    expires_in: int


class DeviceLogins:
    def __init__(self, store: DeviceLoginStore, tokens: Tokens, *, token_days: int) -> None:
        self._store = store
        self._tokens = tokens
        self._days = token_days or _DEFAULT_DAYS

    async def start(self, *, address: str, now: Millis) -> DeviceCodes:
        device_code, user_code, is_new = secrets.token_urlsafe(32), "", False
        while not is_new:
            letters = "".join(secrets.choice(_LETTERS) for _ in range(8))
            user_code = f"{letters[:4]}-{letters[4:]}"
            is_new = await self._store.add_device_login(
                hash_secret(device_code), user_code, address=address, now=now, expires=now + _LIFETIME_MS
            )
        return DeviceCodes(device_code=device_code, user_code=user_code, expires_in=_LIFETIME_MS // 1000)

    async def find(self, caller: Caller, user_code: str, *, now: Millis) -> DeviceLogin:
        """Returns a login that waits for a decision."""
        caller.require(caller.manages_tokens, "log in a device", scope="tokens")
        found = await self._store.device_login(_normal(user_code), now=now)
        if found is None or found.denied or found.approver is not None:
            raise NotFoundError(f"no device waits with the code {user_code[:20]!r}", hint="codes are valid for 10 minutes")
        return found

    async def approve(self, caller: Caller, user_code: str, scopes: tuple[str, ...], *, now: Millis) -> None:
        waiting = await self.find(caller, user_code, now=now)
        wanted = check_scopes(scopes)
        allowed = bool(wanted) and all(covers(caller, scope) for scope in wanted)
        caller.require(allowed, "log in a device without scopes or with more than its own", scope="admin")
        await self._decide(caller, waiting, wanted, now=now, action="device-approve")

    async def deny(self, caller: Caller, user_code: str, *, now: Millis) -> None:
        await self._decide(caller, await self.find(caller, user_code, now=now), (), now=now, action="device-deny")

    async def redeem(self, device_code: str, *, now: Millis) -> tuple[str, tuple[str, ...]]:
        """Returns the text of a new token and its scopes, once. Raises DeviceLoginError until then."""
        hashed = hash_secret(device_code)
        found = await self._store.poll_device_login(hashed, now=now)
        if found is None:
            raise DeviceLoginError("expired_token", "the code has expired or was used")
        if found.denied:
            raise DeviceLoginError("access_denied", "the login was denied")
        if now - found.polled < INTERVAL_SECONDS * 1000:
            raise DeviceLoginError("slow_down", f"ask once in {INTERVAL_SECONDS} seconds")
        approver = found.approver
        if approver is None:
            raise DeviceLoginError("authorization_pending", "the login is not approved yet")
        if approver.revoked is not None or (approver.expires is not None and approver.expires <= now):
            raise DeviceLoginError("access_denied", "the session that approved the login is over")
        if not await self._store.end_device_login(hashed):
            raise DeviceLoginError("expired_token", "the code was used")
        text, row = await self._tokens.create(
            Caller(approver, found.address), holder=approver.holder, scopes=found.scopes, note="metier login",
            expires=self._tokens.expiry(self._days, now=now), now=now,
        )  # fmt: skip
        return text, row.scopes

    async def _decide(self, caller: Caller, waiting: DeviceLogin, scopes: tuple[str, ...], *, now: Millis, action: str) -> None:
        details = f"for {waiting.address} {' '.join(scopes)}".strip()
        approver = caller.token.id if scopes and caller.token else None
        await self._store.decide_device_login(
            waiting.user_code, approver=approver, scopes=scopes, event=caller.event(now, action, "device", details)
        )


def _normal(user_code: str) -> str:
    """Returns the code as it is stored: people type it in lowercase and without the hyphen."""
    letters = re.sub(r"[^A-Z]", "", user_code.upper())
    return f"{letters[:4]}-{letters[4:8]}"
