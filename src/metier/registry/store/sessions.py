"""Sessions of the pages, and tickets for files that are uploaded before their release."""

from __future__ import annotations

from collections.abc import Sequence

from metier.registry.domain.records import AuditEvent, Millis, RegistryToken

from .accounts import TOKEN_COLUMNS, token_record
from .engine import Engine
from .packages import add_event

__all__ = ["PageSessionRows"]

_TOKEN = ", ".join(f"t.{column}" for column in TOKEN_COLUMNS.split(", "))


class PageSessionRows:
    engine: Engine

    async def session(self, hashed: str, *, now: Millis) -> RegistryToken | None:
        rows = await self.engine.rows(
            f"select {_TOKEN} from session s join token t on t.id = s.token where s.hashed = ? and s.expires > ?", (hashed, now)
        )
        return token_record(rows[0]) if rows else None

    async def add_session(self, hashed: str, token: int, *, expires: Millis, event: AuditEvent) -> None:
        async with self.engine.transaction() as transaction:
            await transaction.rows("delete from session where expires <= ?", (event.at,))
            await transaction.rows(
                "insert into session (hashed, token, created, expires) values (?, ?, ?, ?)", (hashed, token, event.at, expires)
            )
            await add_event(transaction, event)

    async def end_session(self, hashed: str, *, event: AuditEvent) -> bool:
        async with self.engine.transaction() as transaction:
            rows = await transaction.rows("delete from session where hashed = ? returning token", (hashed,))
            if rows:
                await add_event(transaction, event)
        return bool(rows)

    async def add_upload(self, hashed: str, token: int, *, digest: str, now: Millis, expires: Millis, most: int) -> bool:
        async with self.engine.transaction() as transaction:
            await transaction.rows("delete from upload where expires <= ?", (now,))
            (count,) = (await transaction.rows("select count(*) from upload where token = ?", (token,)))[0]
            if count >= most:
                return False
            await transaction.rows(
                "insert into upload (hashed, token, digest, expires) values (?, ?, ?, ?)", (hashed, token, digest, expires)
            )
        return True

    async def upload(self, hashed: str, token: int, *, now: Millis) -> str | None:
        rows = await self.engine.rows(
            "select digest from upload where hashed = ? and token = ? and expires > ?", (hashed, token, now)
        )
        return str(rows[0][0]) if rows else None

    async def finish_upload(self, hashed: str) -> None:
        async with self.engine.transaction() as transaction:
            await transaction.rows("update upload set stored = 1 where hashed = ?", (hashed,))

    async def stored_uploads(self, hashed: Sequence[str], token: int, *, now: Millis) -> dict[str, str]:
        marks = ", ".join("?" * len(hashed))
        rows = await self.engine.rows(
            f"select hashed, digest from upload where hashed in ({marks}) and token = ? and stored = 1 and expires > ?",
            (*hashed, token, now),
        )
        return dict(rows)

    async def delete_uploads(self, hashed: Sequence[str]) -> None:
        async with self.engine.transaction() as transaction:
            await transaction.execute_many("delete from upload where hashed = ?", [(each,) for each in hashed])
