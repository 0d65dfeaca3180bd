"""People who sign in with an identity provider: their names, their scopes by group, and their end.

A sign-in makes a token without a text that only sessions of the pages use (prefix `sso_`). So every caller has a token, and
disabling a user revokes one kind of thing. Scopes follow the groups at each sign-in: tokens that the user created with scopes
they no longer have are revoked then.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping

from msgspec.structs import replace

from metier.errors import NotFoundError, RefusedError
from metier.values import dataclass

from .access import Caller
from .protocols import RegistryStore
from .records import Millis, RegistryToken, RegistryUser
from .tokens import check_scopes, covers, hash_secret, sign_in_prefix

__all__ = ["EVERYONE", "Identity", "Users", "scopes_of_groups"]

EVERYONE = "*"
"""The group of all who sign in."""
_LIFETIME_MS = 12 * 3_600_000
_MOST_NAMES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A person as a verified ID token describes them."""

    issuer: str
    subject: str
    name: str
    """The name that they want; not unique."""
    email: str = ""
    email_verified: bool = False
    groups: tuple[str, ...] = ()


def scopes_of_groups(groups: tuple[str, ...], roles: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Returns the scopes of all these groups, and of everyone."""
    return tuple(dict.fromkeys(scope for group in (EVERYONE, *groups) for scope in roles.get(group, ())))


class Users:
    def __init__(
        self,
        store: RegistryStore,
        roles: Mapping[str, tuple[str, ...]] | None = None,
        allowed_domains: tuple[str, ...] = (),
    ) -> None:
        self._store = store
        self._roles = roles or {}
        self._allowed_domains = tuple(domain.lower() for domain in allowed_domains)

    async def sign_in(self, identity: Identity, *, address: str, now: Millis) -> Caller:
        """Returns the caller with the scopes of the groups. Raises RefusedError for a person without a role here."""
        self._check_domain(identity)
        scopes = check_scopes(scopes_of_groups(identity.groups, self._roles))
        if not scopes:
            raise RefusedError(
                "none of your groups has a role in this registry", rule="no-role", hint="ask the administrator for access"
            )
        user = await self._store.user(identity.issuer, identity.subject) or await self._add(
            identity, scopes, address=address, now=now
        )
        if user.disabled is not None:
            raise RefusedError(f"the user {user.name} is disabled", rule="disabled", hint="ask the administrator")
        token = RegistryToken(
            id=0, prefix=sign_in_prefix(), holder=user.name, scopes=scopes, note="sign-in", created=now,
            expires=now + _LIFETIME_MS, revoked=None, user_id=user.id,
        )  # fmt: skip
        caller = Caller(token, address)
        kept = await self._store.user_tokens(user.id)
        narrowed = [row.id for row in kept if not row.is_sign_in and not all(covers(caller, scope) for scope in row.scopes)]
        signed_in = replace(user, email=identity.email, scopes=scopes, signed_in=now)
        await self._store.update_user(signed_in, revoked=narrowed, event=caller.event(now, "sign-in", f"user:{user.name}"))
        event = caller.event(now, "sign-in", f"user:{user.name}", " ".join(scopes))
        made = await self._store.add_token(token, hash_secret(secrets.token_urlsafe(32)), event=event)
        return Caller(made, address)

    async def list(self, caller: Caller, *, after: str = "", limit: int = 100) -> list[RegistryUser]:
        caller.require(caller.is_admin, "list users", scope="admin")
        return await self._store.users(after=after, limit=limit)

    async def set_disabled(self, caller: Caller, name: str, *, disabled: bool, now: Millis) -> int:
        """Disabling ends all sessions and tokens of the user; returns the number of revoked tokens."""
        caller.require(caller.is_admin, "disable users", scope="admin")
        user = await self._store.find_user(name)
        if user is None:
            raise NotFoundError(f"no user is named {name[:80]!r}", hint="see `metier registry user list`")
        event = caller.event(now, "user-disable" if disabled else "user-enable", f"user:{user.name}")
        return await self._store.set_user_disabled(user.id, disabled=disabled, event=event) or 0

    def _check_domain(self, identity: Identity) -> None:
        domain = identity.email.rpartition("@")[2].lower()
        if self._allowed_domains and not (identity.email_verified and domain in self._allowed_domains):
            raise RefusedError(
                f"{identity.email or 'an account without an email address'} is not of an allowed domain, or is not verified",
                rule="domain", hint="sign in with the account of your organisation",
            )  # fmt: skip

    async def _add(self, identity: Identity, scopes: tuple[str, ...], *, address: str, now: Millis) -> RegistryUser:
        # A namespace of a role must not become the name of a user, who could then read what belongs to the group.
        reserved = {scope.partition(":")[2] for each in self._roles.values() for scope in each} | {"admin", "anonymous"}
        wanted = _name(identity)
        for number in range(1, _MOST_NAMES):
            name = wanted if number == 1 else f"{wanted}-{number}"
            if name in reserved:
                continue
            user = RegistryUser(
                id=0, issuer=identity.issuer, subject=identity.subject, name=name, email=identity.email, scopes=scopes,
                created=now, signed_in=now, disabled=None,
            )  # fmt: skip
            event = Caller(address=address).event(now, "user-create", f"user:{name}", f"{identity.issuer} {identity.subject}")
            made = await self._store.add_user(user, event=event)
            # Two sign-ins of a new person at once: the other one made the user.
            known = made or await self._store.user(identity.issuer, identity.subject)
            if known is not None:
                return known
        raise RefusedError(f"no name like {wanted!r} is free", rule="name", hint="ask the administrator")


def _name(identity: Identity) -> str:
    """Returns a namespace from the wanted name or the email address."""
    for text in (identity.name, identity.email):
        words = re.findall(r"[a-z0-9]+", text.partition("@")[0].lower())
        if words:
            return "-".join(words)[:56].strip("-")
    return "user"
