"""Invitations: links that make a user once."""

from __future__ import annotations

from metier.registry.domain.records import AuditEvent, Invitation, Millis

from .engine import Engine
from .packages import add_event

__all__ = ["InvitationRows"]


class InvitationRows:
    engine: Engine

    async def add_invitation(self, hashed: str, invitation: Invitation, *, creator: int | None, event: AuditEvent) -> None:
        async with self.engine.transaction() as transaction:
            await transaction.rows("delete from invitation where expires <= ?", (event.at,))
            await transaction.rows(
                "insert into invitation (hashed, scopes, note, created, expires, creator) values (?, ?, ?, ?, ?, ?)",
                (hashed, " ".join(invitation.scopes), invitation.note, event.at, invitation.expires, creator),
            )
            await add_event(transaction, event)

    async def invitation(self, hashed: str, *, now: Millis) -> Invitation | None:
        rows = await self.engine.rows(
            "select i.scopes, i.note, i.expires from invitation i left join token t on t.id = i.creator"
            " where i.hashed = ? and i.expires > ? and t.revoked is null",
            (hashed, now),
        )
        return Invitation(scopes=tuple(rows[0][0].split()), note=rows[0][1], expires=rows[0][2]) if rows else None

    async def end_invitation(self, hashed: str) -> bool:
        async with self.engine.transaction() as transaction:
            return bool(await transaction.rows("delete from invitation where hashed = ? returning hashed", (hashed,)))
