"""Invitations: an administrator makes a link, and the person who opens it chooses a name and gets a user with a token.

A link works once, expires, and ends with the token that made it. Its text is stored as a hash.
"""

from __future__ import annotations

import re
import secrets

from metier.errors import ConflictError, NotFoundError, UsageError
from metier.spec import is_name

from .access import Caller
from .protocols import RegistryStore
from .records import Invitation, Millis, RegistryUser
from .tokens import Tokens, check_scopes, hash_secret

__all__ = ["LOCAL_ISSUER", "Invitations"]

LOCAL_ISSUER = "invitation"
"""The issuer of users who were invited, and do not sign in with an identity provider."""
_TEXT = re.compile(r"[A-Za-z0-9_-]{43}")
_DAY_MS = 86_400_000
_MOST_DAYS = 90
_RESERVED = ("admin", "anonymous")


class Invitations:
    def __init__(self, store: RegistryStore, tokens: Tokens) -> None:
        self._store = store
        self._tokens = tokens

    async def create(self, caller: Caller, scopes: tuple[str, ...], *, days: int, note: str = "", now: Millis) -> str:
        """Returns the text of the link."""
        caller.require(caller.is_admin, "invite people", scope="admin")
        wanted = check_scopes(scopes)
        if not wanted or not 1 <= days <= _MOST_DAYS:
            raise UsageError(
                "an invitation needs scopes and 1 to 90 days", hint="for example the scope publish:team and 7 days"
            )
        text = secrets.token_urlsafe(32)
        invitation = Invitation(scopes=wanted, note=" ".join(note.split())[:200], expires=now + days * _DAY_MS)
        creator = caller.token.id if caller.token and caller.token.id else None
        event = caller.event(now, "invite", "invitation", f"{' '.join(wanted)} {invitation.note}".strip())
        await self._store.add_invitation(hash_secret(text), invitation, creator=creator, event=event)
        return text

    async def list(self, caller: Caller, *, now: Millis) -> list[Invitation]:
        """Returns the open invitations, without their links."""
        caller.require(caller.is_admin, "list invitations", scope="admin")
        return await self._store.invitations(now=now)

    async def withdraw(self, caller: Caller, invitation: str, *, now: Millis) -> None:
        caller.require(caller.is_admin, "withdraw invitations", scope="admin")
        event = caller.event(now, "invite-withdraw", "invitation", invitation[:40])
        if not await self._store.withdraw_invitation(invitation, event=event):
            raise NotFoundError(f"no open invitation {invitation[:40]!r}", hint="see the list of invitations")

    async def find(self, text: str, *, now: Millis) -> Invitation:
        found = await self._store.invitation(hash_secret(text), now=now) if _TEXT.fullmatch(text) else None
        if found is None:
            raise NotFoundError("this invitation was used, has expired or was withdrawn", hint="ask for a new one")
        return found

    async def accept(self, text: str, name: str, *, address: str, now: Millis) -> tuple[str, RegistryUser]:
        """Returns the text of the new user's token, and the user. The link is used up only if the name is free."""
        invitation = await self.find(text, now=now)
        if not is_name(name) or name in _RESERVED:
            raise UsageError(f"invalid name {name[:80]!r}", hint="use a-z, 0-9 and single hyphens")
        user = RegistryUser(
            id=0, issuer=LOCAL_ISSUER, subject=hash_secret(text), name=name, email="", scopes=invitation.scopes, created=now,
            signed_in=now, disabled=None,
        )  # fmt: skip
        event = Caller(address=address).event(now, "user-create", f"user:{name}", f"invited: {invitation.note}")
        # The subject is the link, so of two requests at once only one makes a user.
        if await self._store.user(LOCAL_ISSUER, user.subject) is not None:
            raise NotFoundError("this invitation was used", hint="ask for a new one")
        made = await self._store.add_user(user, event=event)
        if made is None:
            raise ConflictError(f"the name {name!r} is taken", hint="choose another one")
        await self._store.end_invitation(hash_secret(text))
        token, _ = await self._tokens.create_for(made, address=address, note="invitation", now=now)
        return token, made
