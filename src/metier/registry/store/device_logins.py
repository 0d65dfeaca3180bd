"""Logins of devices that wait for a person with a browser."""

from __future__ import annotations

from metier.registry.domain.records import AuditEvent, DeviceLogin, Millis

from .accounts import TOKEN_COLUMNS, token_record
from .engine import Engine, Row
from .packages import add_event

__all__ = ["DeviceLoginRows"]

_COLUMNS = "d.user_code, d.address, d.expires, d.polled, d.scopes, d.denied, d.approver"
_TOKEN = ", ".join(f"t.{column}" for column in TOKEN_COLUMNS.split(", "))
_SELECT = f"select {_COLUMNS}, {_TOKEN} from device_login d left join token t on t.id = d.approver"


class DeviceLoginRows:
    engine: Engine

    async def add_device_login(self, hashed: str, user_code: str, *, address: str, now: Millis, expires: Millis) -> bool:
        async with self.engine.transaction() as transaction:
            await transaction.rows("delete from device_login where expires <= ?", (now,))
            rows = await transaction.rows(
                "insert into device_login (hashed, user_code, address, expires) values (?, ?, ?, ?)"
                " on conflict do nothing returning user_code",
                (hashed, user_code, address, expires),
            )
        return bool(rows)

    async def device_login(self, user_code: str, *, now: Millis) -> DeviceLogin | None:
        rows = await self.engine.rows(f"{_SELECT} where d.user_code = ? and d.expires > ?", (user_code, now))
        return _record(rows[0]) if rows else None

    async def poll_device_login(self, hashed: str, *, now: Millis) -> DeviceLogin | None:
        async with self.engine.transaction() as transaction:
            rows = await transaction.rows(f"{_SELECT} where d.hashed = ? and d.expires > ?", (hashed, now))
            await transaction.rows("update device_login set polled = ? where hashed = ?", (now, hashed))
        return _record(rows[0]) if rows else None

    async def decide_device_login(
        self, user_code: str, *, approver: int | None, scopes: tuple[str, ...], event: AuditEvent
    ) -> bool:
        async with self.engine.transaction() as transaction:
            rows = await transaction.rows(
                "update device_login set approver = ?, scopes = ?, denied = ? where user_code = ? and expires > ?"
                " and approver is null and denied = 0 returning hashed",
                (approver, " ".join(scopes), int(approver is None), user_code, event.at),
            )
            if rows:
                await add_event(transaction, event)
        return bool(rows)

    async def end_device_login(self, hashed: str) -> bool:
        async with self.engine.transaction() as transaction:
            return bool(await transaction.rows("delete from device_login where hashed = ? returning user_code", (hashed,)))


def _record(row: Row) -> DeviceLogin:
    user_code, address, expires, polled, scopes, denied, approver, *token = row
    return DeviceLogin(
        user_code=user_code, address=address, expires=expires, polled=polled, scopes=tuple(scopes.split()),
        denied=bool(denied), approver=token_record(tuple(token)) if approver is not None else None,
    )  # fmt: skip
