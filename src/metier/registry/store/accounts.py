"""Tokens, signing keys, settings and the audit log."""

from __future__ import annotations

from metier.registry.domain.records import AuditEvent, RegistryToken, SigningKey

from .engine import Engine
from .packages import add_event

__all__ = ["AccountRows"]

_TOKEN = "id, prefix, holder, scopes, note, created, expires, revoked"  # noqa: S105  (columns)
_KEY = ", ".join(SigningKey.__struct_fields__)


class AccountRows:
    engine: Engine

    async def token(self, hashed: str) -> RegistryToken | None:
        rows = await self.engine.rows(f"select {_TOKEN} from token where hashed = ?", (hashed,))
        return _token(rows[0]) if rows else None

    async def tokens(self, holder: str | None = None) -> list[RegistryToken]:
        where, arguments = ("where holder = ?", (holder,)) if holder is not None else ("", ())
        rows = await self.engine.rows(f"select {_TOKEN} from token {where} order by id", arguments)
        return [_token(row) for row in rows]

    async def add_token(
        self, token: RegistryToken, hashed: str, *, event: AuditEvent, first: bool = False
    ) -> RegistryToken | None:
        async with self.engine.transaction() as transaction:
            if first:
                # Several workers may start at once; only one creates the token.
                await self.engine.lock(transaction, "metier-first-token")
                if await transaction.rows("select 1 from token limit 1"):
                    return None
            rows = await transaction.rows(
                "insert into token (hashed, prefix, holder, scopes, note, created, expires) values (?, ?, ?, ?, ?, ?, ?)"
                f" returning {_TOKEN}",
                (hashed, token.prefix, token.holder, " ".join(token.scopes), token.note, token.created, token.expires),
            )
            await add_event(transaction, event)
        return _token(rows[0])

    async def revoke_token(self, token: int, *, event: AuditEvent) -> bool:
        async with self.engine.transaction() as transaction:
            rows = await transaction.rows(
                "update token set revoked = ? where id = ? and revoked is null returning id", (event.at, token)
            )
            if rows:
                await add_event(transaction, event)
        return bool(rows)

    async def keys(self, namespace: str) -> list[SigningKey]:
        rows = await self.engine.rows(f"select {_KEY} from signing_key where namespace = ? order by id", (namespace,))
        return [SigningKey(*row) for row in rows]

    async def add_key(self, key: SigningKey, *, event: AuditEvent) -> SigningKey:
        async with self.engine.transaction() as transaction:
            rows = await transaction.rows(
                "insert into signing_key (namespace, keyid, public, note, created) values (?, ?, ?, ?, ?)"
                f" on conflict (namespace, keyid) do update set note = excluded.note returning {_KEY}",
                (key.namespace, key.keyid, key.public, key.note, key.created),
            )
            await add_event(transaction, event)
        return SigningKey(*rows[0])

    async def revoke_key(self, namespace: str, keyid: str, *, event: AuditEvent) -> bool:
        async with self.engine.transaction() as transaction:
            rows = await transaction.rows(
                "update signing_key set revoked = ? where namespace = ? and keyid = ? and revoked is null returning id",
                (event.at, namespace, keyid),
            )
            if rows:
                await add_event(transaction, event)
        return bool(rows)

    async def events(self, *, subject: str = "", before: int | None = None, limit: int = 50) -> list[tuple[int, AuditEvent]]:
        where, arguments = (" and subject = ?", (subject,)) if subject else ("", ())
        rows = await self.engine.rows(
            f"select id, at, actor, action, subject, details from audit where id < ?{where} order by id desc limit ?",
            (before or 1 << 62, *arguments, limit),
        )
        return [(row[0], AuditEvent(*row[1:])) for row in rows]

    async def add_event(self, event: AuditEvent) -> None:
        async with self.engine.transaction() as transaction:
            await add_event(transaction, event)

    async def setting(self, key: str, default: str) -> str:
        rows = await self.engine.rows("select value from setting where key = ?", (key,))
        if rows:
            return str(rows[0][0])
        async with self.engine.transaction() as transaction:
            await transaction.rows(
                "insert into setting (key, value) values (?, ?) on conflict (key) do nothing", (key, default)
            )
            rows = await transaction.rows("select value from setting where key = ?", (key,))
        return str(rows[0][0])


def _token(row: tuple[object, ...]) -> RegistryToken:
    fields = dict(zip(_TOKEN.split(", "), row, strict=True))
    return RegistryToken(**{**fields, "scopes": tuple(str(fields["scopes"]).split())})  # type: ignore[arg-type]
