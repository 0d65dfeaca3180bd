"""Users, and what ends with them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from metier.registry.domain.records import AuditEvent, RegistryToken, RegistryUser

from .accounts import TOKEN_COLUMNS, revoke_tokens, token_record
from .engine import Engine, Row
from .packages import add_event

__all__ = ["UserRows"]

_COLUMNS = ", ".join(RegistryUser.__struct_fields__)
_NAME_IN_USE = (
    "select 1 from registry_user where name = ? union all select 1 from token where holder = ?"
    " union all select 1 from owner where namespace = ? union all select 1 from signing_key where namespace = ? limit 1"
)


class UserRows:
    engine: Engine

    async def user(self, issuer: str, subject: str) -> RegistryUser | None:
        rows = await self.engine.rows(
            f"select {_COLUMNS} from registry_user where issuer = ? and subject = ?", (issuer, subject)
        )
        return _record(rows[0]) if rows else None

    async def users(self, *, after: str = "", limit: int = 100) -> list[RegistryUser]:
        rows = await self.engine.rows(
            f"select {_COLUMNS} from registry_user where name > ? order by name limit ?", (after, limit)
        )
        return [_record(row) for row in rows]

    async def find_user(self, name: str) -> RegistryUser | None:
        rows = await self.engine.rows(f"select {_COLUMNS} from registry_user where name = ?", (name,))
        return _record(rows[0]) if rows else None

    async def add_user(self, user: RegistryUser, *, event: AuditEvent) -> RegistryUser | None:
        async with self.engine.transaction() as transaction:
            # Two sign-ins at once must not get one name.
            await self.engine.lock(transaction, "metier-user")
            if await transaction.rows(_NAME_IN_USE, (user.name,) * 4):
                return None
            rows = await transaction.rows(
                "insert into registry_user (issuer, subject, name, email, scopes, created, signed_in)"
                f" values (?, ?, ?, ?, ?, ?, ?) on conflict do nothing returning {_COLUMNS}",
                (user.issuer, user.subject, user.name, user.email, " ".join(user.scopes), user.created, user.signed_in),
            )
            if rows:
                await add_event(transaction, event)
        return _record(rows[0]) if rows else None

    async def update_user(self, user: RegistryUser, *, revoked: Sequence[int], event: AuditEvent) -> None:
        async with self.engine.transaction() as transaction:
            await transaction.rows(
                "update registry_user set email = ?, scopes = ?, signed_in = ? where id = ?",
                (user.email, " ".join(user.scopes), user.signed_in, user.id),
            )
            for number in revoked:
                await revoke_tokens(transaction, "id = ?", number, event=replace(event, action="token-revoke"))
            await transaction.rows(
                "delete from token where user_id = ? and substr(prefix, 1, 4) = 'sso_' and expires <= ?", (user.id, event.at)
            )

    async def set_user_disabled(self, user: int, *, disabled: bool, event: AuditEvent) -> int | None:
        async with self.engine.transaction() as transaction:
            was = "null" if disabled else "not null"
            rows = await transaction.rows(
                f"update registry_user set disabled = ? where id = ? and disabled is {was} returning id",
                (event.at if disabled else None, user),
            )
            if not rows:
                return None
            await add_event(transaction, event)
            if not disabled:
                return 0
            return await revoke_tokens(transaction, "user_id = ?", user, event=replace(event, action="token-revoke"))

    async def user_tokens(self, user: int) -> list[RegistryToken]:
        rows = await self.engine.rows(
            f"select {TOKEN_COLUMNS} from token where user_id = ? and revoked is null order by id", (user,)
        )
        return [token_record(row) for row in rows]


def _record(row: Row) -> RegistryUser:
    fields = dict(zip(RegistryUser.__struct_fields__, row, strict=True))
    return RegistryUser(**{**fields, "scopes": tuple(str(fields["scopes"]).split())})
