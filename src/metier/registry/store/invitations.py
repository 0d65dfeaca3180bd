"""Invitations: links that make a user once."""

from __future__ import annotations

from metier.registry.domain.records import AuditEvent, Invitation, Millis

from .engine import Engine
from .packages import add_event

__all__ = ["InvitationRows"]

ID_LENGTH = 16
_MOST = 500


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

    async def invitations(self, *, now: Millis) -> list[Invitation]:
        rows = await self.engine.rows(
            "select i.scopes, i.note, i.expires, i.hashed from invitation i left join token t on t.id = i.creator"
            " where i.expires > ? and t.revoked is null order by i.expires, i.hashed limit ?",
            (now, _MOST),
        )
        return [
            Invitation(scopes=tuple(scopes.split()), note=note, expires=expires, id=hashed[:ID_LENGTH])
            for scopes, note, expires, hashed in rows
        ]

    async def withdraw_invitation(self, invitation: str, *, event: AuditEvent) -> bool:
        async with self.engine.transaction() as transaction:
            gone = await transaction.rows(
                f"delete from invitation where substr(hashed, 1, {ID_LENGTH}) = ? returning hashed", (invitation,)
            )
            if gone:
                await add_event(transaction, event)
        return bool(gone)

    async def end_invitation(self, hashed: str) -> bool:
        async with self.engine.transaction() as transaction:
            return bool(await transaction.rows("delete from invitation where hashed = ? returning hashed", (hashed,)))
