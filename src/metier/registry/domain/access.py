"""Tokens, their scopes, and the permissions of a caller. A token is shown once and stored as a hash.

    read            read private packages of every namespace; `read:acme` of one namespace
    publish:acme    publish in one namespace; `publish:*` in all, `publish` in the holder's own
    yank            yank and unyank releases of the token's namespaces
    admin           everything

A token can also read the packages of the namespaces it acts for. Packages that the caller may not read are reported as not
found, never as forbidden.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import zlib

from metier.errors import MetierError, RefusedError
from metier.spec import is_name
from metier.values import dataclass

from .protocols import AccountStore
from .records import AuditEvent, Millis, Package, PackageStatus, PackageVisibility, RegistryToken

__all__ = ["ANONYMOUS", "LOCAL", "Caller", "Tokens", "UnauthenticatedError", "hash_token", "new_token_text"]

_PREFIX = "mtr_"
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SCOPE = re.compile(r"read(:[a-z0-9-]+)?|publish(:([a-z0-9-]+|\*))?|yank|admin")
_PREFIX_LENGTH = len(_PREFIX) + 6


class UnauthenticatedError(MetierError):
    code = "unauthenticated"
    exit_status = 5


@dataclass(frozen=True, slots=True)
class Caller:
    token: RegistryToken | None = None
    address: str = ""

    @property
    def name(self) -> str:
        return self.token.holder if self.token else "anonymous"

    @property
    def scopes(self) -> tuple[str, ...]:
        return self.token.scopes if self.token else ()

    @property
    def is_admin(self) -> bool:
        return "admin" in self.scopes

    @property
    def acts_for(self) -> tuple[str, ...] | None:
        """Namespaces that the caller may publish in; None means all."""
        if self.is_admin or "publish:*" in self.scopes:
            return None
        named = [scope.removeprefix("publish:") for scope in self.scopes if scope.startswith("publish:")]
        return tuple(dict.fromkeys([*named, *([self.name] if "publish" in self.scopes else [])]))

    @property
    def readable_namespaces(self) -> tuple[str, ...] | None:
        """Namespaces whose private packages the caller may read; None means all."""
        if self.token is None:
            return ()
        if self.is_admin or "read" in self.scopes or self.acts_for is None:
            return None
        named = [scope.removeprefix("read:") for scope in self.scopes if scope.startswith("read:")]
        return tuple(dict.fromkeys([self.name, *named, *self.acts_for]))

    def may_read(self, package: Package) -> bool:
        if package.status == PackageStatus.DELETED or (package.status == PackageStatus.QUARANTINED and not self.is_admin):
            return False
        if package.visibility == PackageVisibility.PUBLIC:
            return True
        readable = self.readable_namespaces
        return readable is None or package.namespace in readable

    def may_publish(self, namespace: str) -> bool:
        return self.acts_for is None or namespace in self.acts_for

    def owns(self, owners: tuple[str, ...]) -> bool:
        """Returns whether the caller acts for one of these namespaces."""
        acting = self.acts_for
        return acting is None or not {self.name, *acting}.isdisjoint(owners)

    def may_yank(self, owners: tuple[str, ...]) -> bool:
        return self.is_admin or ("yank" in self.scopes and self.owns(owners))

    def require(self, allowed: bool, action: str, *, scope: str) -> None:
        """Raises UnauthenticatedError without a token, and RefusedError if `allowed` is false."""
        if self.token is None:
            raise UnauthenticatedError(f"a token is required to {action}", hint=f"send a token with the scope {scope}")
        if not allowed:
            raise RefusedError(f"this token may not {action}", rule="scope", hint=f"use a token with the scope {scope}")


ANONYMOUS = Caller()
LOCAL = Caller(
    RegistryToken(id=0, prefix="", holder="admin", scopes=("admin",), note="", created=0, expires=None, revoked=None)
)
"""The caller of maintenance commands, which have direct access to the database."""


def new_token_text() -> str:
    """Returns 256 random bits and a checksum after a prefix that secret scanners recognise."""
    body = _base62(secrets.randbits(256), 43)
    return f"{_PREFIX}{body}{_base62(zlib.crc32(body.encode()), 6)}"


def is_token_text(text: str) -> bool:
    """Checks the format and the checksum, which catches typos without a database query."""
    body, check = text.removeprefix(_PREFIX)[:-6], text[-6:]
    return text.startswith(_PREFIX) and len(text) == len(_PREFIX) + 49 and check == _base62(zlib.crc32(body.encode()), 6)


def hash_token(text: str) -> str:
    # A fast hash is enough: 256 random bits cannot be guessed.
    return hashlib.sha256(text.encode()).hexdigest()


class Tokens:
    """Creates, checks, lists and revokes tokens."""

    def __init__(self, accounts: AccountStore) -> None:
        self._accounts = accounts

    async def authenticate(self, text: str | None, *, address: str, now: Millis) -> Caller:
        if not text:
            return Caller(address=address)
        token = await self._accounts.token(hash_token(text)) if is_token_text(text) else None
        if token is None:
            raise UnauthenticatedError("unknown token", hint="copy the whole token, or create a new one")
        if token.revoked is not None:
            raise UnauthenticatedError("this token was revoked", hint="create a new one")
        if token.expires is not None and token.expires <= now:
            raise UnauthenticatedError("this token has expired", hint="create a new one")
        return Caller(token, address)

    async def create_first(self, *, now: Millis) -> str | None:
        """Returns an admin token if the registry has no token yet."""
        text = new_token_text()
        made = await self._accounts.add_token(
            _row(text, holder="admin", scopes=("admin",), note="first start", now=now, expires=None),
            hash_token(text),
            event=AuditEvent(now, "registry", "token-create", f"token:{text[:_PREFIX_LENGTH]}", "first start"),
            first=True,
        )
        return text if made else None

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
        wanted = tuple(dict.fromkeys(scopes))
        for scope in wanted:
            if not _SCOPE.fullmatch(scope):
                raise RefusedError(f"unknown scope {scope[:80]!r}", rule="scope",
                              hint="use read, read:NAMESPACE, publish:NAMESPACE, yank or admin")  # fmt: skip
        if not wanted or not is_name(holder):
            raise RefusedError(f"a token needs a scope and a valid holder, not {holder[:80]!r}", rule="scope",
                          hint="for example the holder acme and the scope publish:acme")  # fmt: skip
        own = holder == caller.name and all(_covers(caller, scope) for scope in wanted)
        caller.require(caller.is_admin or own, "create a token for another holder or with more scopes", scope="admin")
        text = new_token_text()
        row = _row(text, holder=holder, scopes=wanted, note=note[:200], now=now, expires=expires)
        event = AuditEvent(now, caller.name, "token-create", f"token:{row.prefix}", f"{holder}: {' '.join(wanted)}")
        made = await self._accounts.add_token(row, hash_token(text), event=event)
        if made is None:
            raise AssertionError("only the first token can be skipped")
        return text, made

    async def list(self, caller: Caller) -> list[RegistryToken]:
        caller.require(True, "list tokens", scope="read")
        return await self._accounts.tokens(None if caller.is_admin else caller.name)

    async def revoke(self, caller: Caller, token: int, *, now: Millis) -> bool:
        mine = {each.id: each for each in await self.list(caller)}
        if token not in mine:
            return False
        event = AuditEvent(now, caller.name, "token-revoke", f"token:{mine[token].prefix}")
        return await self._accounts.revoke_token(token, event=event)


def _covers(caller: Caller, scope: str) -> bool:
    """Returns whether the caller has at least this scope."""
    kind, _, namespace = scope.partition(":")
    if kind == "publish":
        return caller.acts_for is None or (namespace or caller.name) in caller.acts_for
    if kind == "read":
        readable = caller.readable_namespaces
        return readable is None or (bool(namespace) and namespace in readable)
    return scope in caller.scopes


def _row(text: str, *, holder: str, scopes: tuple[str, ...], note: str, now: Millis, expires: Millis | None) -> RegistryToken:
    return RegistryToken(
        id=0, prefix=text[:_PREFIX_LENGTH], holder=holder, scopes=scopes, note=note, created=now, expires=expires, revoked=None
    )


def _base62(number: int, width: int) -> str:
    digits: list[str] = []
    for _ in range(width):
        number, digit = divmod(number, 62)
        digits.append(_LETTERS[digit])
    return "".join(reversed(digits))
