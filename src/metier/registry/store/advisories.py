"""Advisories of the registry. Each change makes the number of their list grow."""

from __future__ import annotations

from metier.registry.domain.records import AuditEvent

from .engine import Engine, RowReader, Transaction
from .packages import add_event

__all__ = ["AdvisoryRows"]

_NUMBER = "advisories-number"
_KEY = "advisories-key"


class AdvisoryRows:
    engine: Engine

    async def advisories_number(self) -> int:
        return await _number(self.engine)

    async def advisories(self) -> tuple[int, list[str]]:
        # One snapshot, so that the number belongs to these rows.
        async with self.engine.snapshot() as reader:
            number = await _number(reader)
            rows = await reader.rows("select contents from advisory where withdrawn is null order by added, id")
        return number, [row[0] for row in rows]

    async def add_advisory(self, advisory: str, contents: str, *, event: AuditEvent) -> bool:
        async with self.engine.transaction() as transaction:
            rows = await transaction.rows(
                "insert into advisory (id, contents, added) values (?, ?, ?) on conflict (id) do nothing returning id",
                (advisory, contents, event.at),
            )
            if rows:
                await self._grow(transaction, event)
        return bool(rows)

    async def withdraw_advisory(self, advisory: str, *, event: AuditEvent) -> bool:
        async with self.engine.transaction() as transaction:
            rows = await transaction.rows(
                "update advisory set withdrawn = ? where id = ? and withdrawn is null returning id", (event.at, advisory)
            )
            if rows:
                await self._grow(transaction, event)
        return bool(rows)

    async def advisory_key(self) -> str:
        rows = await self.engine.rows("select value from setting where key = ?", (_KEY,))
        return str(rows[0][0]) if rows else ""

    async def set_advisory_key(self, public: str, *, event: AuditEvent) -> None:
        async with self.engine.transaction() as transaction:
            await _set(transaction, _KEY, public)
            await add_event(transaction, event)

    async def _grow(self, transaction: Transaction, event: AuditEvent) -> None:
        await self.engine.lock(transaction, "metier-advisories")
        # The time makes the number of a restored registry grow past those that it has served before.
        await _set(transaction, _NUMBER, str(max(await _number(transaction) + 1, event.at // 1000)))
        await add_event(transaction, event)


async def _number(reader: RowReader) -> int:
    rows = await reader.rows("select value from setting where key = ?", (_NUMBER,))
    return int(rows[0][0]) if rows else 0


async def _set(transaction: Transaction, key: str, value: str) -> None:
    await transaction.rows(
        "insert into setting (key, value) values (?, ?) on conflict (key) do update set value = excluded.value", (key, value)
    )
