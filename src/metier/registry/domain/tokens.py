"""Tokens: creation, authentication, listing and revocation. A token is shown once and stored as a hash.

A token that was created with another token is its child: it has no more scopes, it expires no later, and it is revoked with it.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import zlib
from collections.abc import Iterable

from msgspec.structs import replace

from metier.errors import UsageError
from metier.spec import is_name

from .access import Caller, UnauthenticatedError
from .protocols import AccountStore
from .records import SIGN_IN_PREFIX, AuditEvent, Millis, RegistryToken, RegistryUser

__all__ = [
    "LONGEST_DAYS",
    "Tokens",
    "check_scopes",
    "covers",
    "hash_secret",
    "is_token_text",
    "new_token_text",
    "sign_in_prefix",
    "token_prefix",
]

_PREFIX = "mtr_"
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SCOPE = re.compile(r"read(:[a-z0-9-]+)?|publish(:([a-z0-9-]+|\*))?|review:([a-z0-9-]+|\*)|yank|tokens|metrics|admin")
LONGEST_DAYS = 3_650
_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
_PREFIX_LENGTH = len(_PREFIX) + 6


def new_token_text() -> str:
    """Returns 256 random bits and a checksum after a prefix that secret scanners recognise."""
    body = _base62(secrets.randbits(256), 43)
    return f"{_PREFIX}{body}{_base62(zlib.crc32(body.encode()), 6)}"


def is_token_text(text: str) -> bool:
    """Checks the format and the checksum, which catches typos without a database query."""
    body, check = text.removeprefix(_PREFIX)[:-6], text[-6:]
    return text.startswith(_PREFIX) and len(text) == len(_PREFIX) + 49 and check == _base62(zlib.crc32(body.encode()), 6)


def token_prefix(text: str) -> str:
    """Returns the part of a token that identifies it in lists and logs; empty if the text is not a token."""
    return text[:_PREFIX_LENGTH] if is_token_text(text) else ""


def hash_secret(text: str) -> str:
    # A fast hash is enough: 256 random bits cannot be guessed.
    return hashlib.sha256(text.encode()).hexdigest()


def sign_in_prefix() -> str:
    """Returns the prefix of a token that stands for a sign-in. It has no text."""
    return f"{SIGN_IN_PREFIX}{secrets.token_hex(3)}"


def check_scopes(scopes: Iterable[str]) -> tuple[str, ...]:
    """Returns the scopes, each once. Raises UsageError for one that does not exist."""
    wanted = tuple(dict.fromkeys(scopes))
    for scope in wanted:
        if not _SCOPE.fullmatch(scope):
            known = "read, read:NAMESPACE, publish:NAMESPACE, review:NAMESPACE, yank, tokens, metrics or admin"
            raise UsageError(f"unknown scope {scope[:80]!r}", hint=f"use {known}")
    return wanted


class Tokens:
    def __init__(self, accounts: AccountStore, *, default_days: int = 0) -> None:
        self._accounts = accounts
        self._default_days = default_days
        self._uses: dict[int, Millis] = {}

    async def authenticate(self, text: str | None, *, address: str, now: Millis) -> Caller:
        if not text:
            return Caller(address=address)
        token = await self._accounts.token(hash_secret(text)) if is_token_text(text) else None
        if token is None:
            raise UnauthenticatedError("unknown token", hint="copy the whole token, or create a new one")
        if token.revoked is not None:
            raise UnauthenticatedError("this token was revoked", hint="create a new one")
        if token.expires is not None and token.expires <= now:
            raise UnauthenticatedError("this token has expired", hint="create a new one")
        if token.used is None or now - token.used >= _HOUR_MS:
            self._uses[token.id] = now
        return Caller(token, address)

    async def flush_uses(self) -> None:
        """Writes the times at which tokens were used, to the hour: a read must not wait for a write."""
        uses, self._uses = self._uses, {}
        if uses:
            await self._accounts.mark_used(list(uses.items()))

    def expiry(self, days: int | None, *, now: Millis) -> Millis | None:
        """Returns the end of a new token: None means the registry's default, and 0 never."""
        chosen = self._default_days if days is None else days
        if not 0 <= chosen <= LONGEST_DAYS:
            raise UsageError(
                f"invalid number of days {chosen}", hint=f"use 1 to {LONGEST_DAYS:,}, or 0 for a token that does not expire"
            )
        return now + chosen * _DAY_MS if chosen else None

    async def create_first(self, *, now: Millis) -> str | None:
        """Returns an admin token if the registry has no token yet."""
        text = new_token_text()
        made = await self._accounts.add_token(
            _row(text, holder="admin", scopes=("admin",), note="first start", now=now, expires=None),
            hash_secret(text),
            event=AuditEvent(now, "registry", "token-create", f"token:{text[:_PREFIX_LENGTH]}", "first start"),
            first=True,
        )
        return text if made else None

    async def create_for(self, user: RegistryUser, *, address: str, note: str, now: Millis) -> tuple[str, RegistryToken]:
        """Returns the text of a first token of a new user, with all scopes of the user, and its record."""
        text = new_token_text()
        row = _row(text, holder=user.name, scopes=user.scopes, note=note, now=now, expires=self.expiry(None, now=now))
        row = replace(row, user_id=user.id)
        event = Caller(row, address).event(now, "token-create", f"token:{row.prefix}", f"{user.name}: {' '.join(user.scopes)}")
        made = await self._accounts.add_token(row, hash_secret(text), event=event)
        if made is None:
            raise AssertionError("only the first token can be skipped")
        return text, made

    async def create(
        self,
        caller: Caller,
        *,
        holder: str,
        scopes: tuple[str, ...],
        note: str = "",
        expires: Millis | None = None,
        now: Millis,
    ) -> tuple[str, RegistryToken]:
        """Returns the text of a new token and its record. It expires no later than the caller's own token."""
        wanted = check_scopes(scopes)
        if not wanted or not is_name(holder):
            raise UsageError(
                f"a token needs a scope and a valid holder, not {holder[:80]!r}",
                hint="for example the holder acme and the scope publish:acme",
            )
        caller.require(caller.manages_tokens, "create tokens", scope="tokens")
        own = holder == caller.name and all(covers(caller, scope) for scope in wanted)
        caller.require(caller.is_admin or own, "create a token for another holder or with more scopes", scope="admin")
        parent = caller.token if caller.token and caller.token.id and not caller.token.is_sign_in else None
        if parent and parent.expires is not None:
            expires = min(parent.expires, expires or parent.expires)
        text = new_token_text()
        row = _row(text, holder=holder, scopes=wanted, note=note[:200], now=now, expires=expires, parent=parent)
        # Also the children of a user's token belong to the user.
        row = replace(row, user_id=caller.token.user_id if caller.token else None)
        event = caller.event(now, "token-create", f"token:{row.prefix}", f"{holder}: {' '.join(wanted)}")
        made = await self._accounts.add_token(row, hash_secret(text), event=event)
        if made is None:
            raise AssertionError("only the first token can be skipped")
        return text, made

    async def list(self, caller: Caller) -> list[RegistryToken]:
        """Returns all tokens for an admin, the holder's tokens with the scope tokens, else only the caller's own."""
        caller.require(True, "list tokens", scope="tokens")
        if caller.manages_tokens:
            return await self._accounts.tokens(None if caller.is_admin else caller.name)
        return [caller.token] if caller.token else []

    async def revoke(self, caller: Caller, token: int, *, now: Millis) -> int:
        """Revokes a token and the tokens that were created with it. Returns their number; 0 if there is no such token."""
        row = next((each for each in await self.list(caller) if each.id == token), None)
        if row is None:
            return 0
        own = caller.token is not None and row.id == caller.token.id
        allowed = own or caller.is_admin or all(covers(caller, scope) for scope in row.scopes)
        caller.require(allowed, "revoke a token with more scopes", scope="admin")
        return await self._accounts.revoke_token(token, event=caller.event(now, "token-revoke", f"token:{row.prefix}"))


def covers(caller: Caller, scope: str) -> bool:
    """Returns whether the caller has at least this scope."""
    kind, _, namespace = scope.partition(":")
    if kind == "publish":
        return caller.acts_for is None or (namespace or caller.name) in caller.acts_for
    if kind == "review":
        return caller.reviews_for is None or namespace in caller.reviews_for
    if kind == "read":
        readable = caller.readable_namespaces
        return readable is None or (bool(namespace) and namespace in readable)
    return scope in caller.scopes


def _row(
    text: str, *, holder: str, scopes: tuple[str, ...], note: str, now: Millis, expires: Millis | None,
    parent: RegistryToken | None = None,
) -> RegistryToken:  # fmt: skip
    return RegistryToken(
        id=0, prefix=text[:_PREFIX_LENGTH], holder=holder, scopes=scopes, note=note, created=now, expires=expires,
        revoked=None, parent=parent.id if parent else None,
    )  # fmt: skip


def _base62(number: int, width: int) -> str:
    digits: list[str] = []
    for _ in range(width):
        number, digit = divmod(number, 62)
        digits.append(_LETTERS[digit])
    return "".join(reversed(digits))
