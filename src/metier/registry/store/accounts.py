"""Tokens, signing keys, settings and the audit log."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from metier.errors import ConflictError
from metier.registry.domain.records import AuditEvent, RegistryToken, SigningKey

from .engine import Engine, RowReader, Transaction
from .packages import add_event, refresh_package

__all__ = ["TOKEN_COLUMNS", "AccountRows", "read_keys", "revoke_tokens", "token_record", "write_key"]

TOKEN_COLUMNS = "id, prefix, holder, scopes, note, created, expires, revoked, parent, user_id, used, publisher_id, provenance"  # noqa: S105  (columns)
_REVOKE = "update token set revoked = ? where {} and revoked is null returning id, prefix"
_KEY = ", ".join(SigningKey.__struct_fields__)


class AccountRows:
    engine: Engine

    async def token(self, hashed: str) -> RegistryToken | None:
        rows = await self.engine.rows(f"select {TOKEN_COLUMNS} from token where hashed = ?", (hashed,))
        return token_record(rows[0]) if rows else None

    async def tokens(self, holder: str | None = None) -> list[RegistryToken]:
        where, arguments = ("where holder = ?", (holder,)) if holder is not None else ("", ())
        rows = await self.engine.rows(f"select {TOKEN_COLUMNS} from token {where} order by id", arguments)
        return [token_record(row) for row in rows]

    async def add_token(
        self, token: RegistryToken, hashed: str, *, event: AuditEvent, first: bool = False
    ) -> RegistryToken | None:
        async with self.engine.transaction() as transaction:
            if first:
                # Several workers may start at once; only one creates the token.
                await self.engine.lock(transaction, "metier-first-token")
                if await transaction.rows("select 1 from token limit 1"):
                    return None
            if token.parent is not None:
                # Locked, so that a token cannot outlive its parent that is revoked at the same time.
                hold = " for update" if self.engine.dialect == "postgresql" else ""
                if not await transaction.rows(f"select 1 from token where id = ? and revoked is null{hold}", (token.parent,)):
                    raise ConflictError("the token was revoked", hint="log in with another token")
            if token.user_id is not None:
                hold = " for update" if self.engine.dialect == "postgresql" else ""
                if not await transaction.rows(
                    f"select 1 from registry_user where id = ? and disabled is null{hold}", (token.user_id,)
                ):
                    raise ConflictError("the user was disabled", hint="ask the administrator")
            rows = await transaction.rows(
                "insert into token (hashed, prefix, holder, scopes, note, created, expires, parent, user_id)"
                f" values (?, ?, ?, ?, ?, ?, ?, ?, ?) returning {TOKEN_COLUMNS}",
                (
                    hashed,
                    token.prefix,
                    token.holder,
                    " ".join(token.scopes),
                    token.note,
                    token.created,
                    token.expires,
                    token.parent,
                    token.user_id,
                ),
            )
            await add_event(transaction, event)
        return token_record(rows[0])

    async def revoke_token(self, token: int, *, event: AuditEvent) -> int:
        async with self.engine.transaction() as transaction:
            return await revoke_tokens(transaction, "id = ?", token, event=event)

    async def mark_used(self, uses: Sequence[tuple[int, int]]) -> None:
        async with self.engine.transaction(durable=False) as transaction:
            await transaction.execute_many(
                "update token set used = ? where id = ? and (used is null or used < ?)", [(at, token, at) for token, at in uses]
            )

    async def keys(self, namespace: str) -> list[SigningKey]:
        return await read_keys(self.engine, namespace)

    async def add_key(self, key: SigningKey, *, event: AuditEvent) -> SigningKey:
        async with self.engine.transaction() as transaction:
            return await write_key(transaction, key, event=event)

    async def revoke_key(self, namespace: str, keyid: str, *, event: AuditEvent) -> bool:
        async with self.engine.transaction() as transaction:
            rows = await transaction.rows(
                "update signing_key set revoked = ? where namespace = ? and keyid = ? and revoked is null returning id",
                (event.at, namespace, keyid),
            )
            if rows:
                await _remove_badges(transaction, namespace, keyid, at=event.at)
                await add_event(transaction, event)
        return bool(rows)

    async def events(self, *, subject: str = "", before: int | None = None, limit: int = 50) -> list[tuple[int, AuditEvent]]:
        where, arguments = (" and subject = ?", (subject,)) if subject else ("", ())
        rows = await self.engine.rows(
            f"select id, at, actor, action, subject, details, token, address from audit where id < ?{where}"
            " order by id desc limit ?",
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


async def revoke_tokens(transaction: Transaction, where: str, value: int, *, event: AuditEvent) -> int:
    """Revokes tokens and those created with them, each with an entry in the audit log. Returns their number."""
    below = await transaction.rows(_REVOKE.format(where), (event.at, value))
    count = 0
    # One level at a time: each update waits for tokens that are being created with those of the level above.
    while below:
        for _, prefix in below:
            subject = f"token:{prefix}"
            details = event.details if subject == event.subject else f"with {event.subject}"
            await add_event(transaction, replace(event, subject=subject, details=details))
        count += len(below)
        marks = ", ".join("?" * len(below))
        numbers = (number for number, _ in below)
        below = await transaction.rows(_REVOKE.format(f"parent in ({marks})"), (event.at, *numbers))
    return count


async def read_keys(reader: RowReader, namespace: str) -> list[SigningKey]:
    rows = await reader.rows(f"select {_KEY} from signing_key where namespace = ? order by id", (namespace,))
    return [SigningKey(*row) for row in rows]


async def write_key(transaction: Transaction, key: SigningKey, *, event: AuditEvent) -> SigningKey:
    rows = await transaction.rows(
        "insert into signing_key (namespace, keyid, public, note, created) values (?, ?, ?, ?, ?)"
        f" on conflict (namespace, keyid) do update set note = excluded.note returning {_KEY}",
        (key.namespace, key.keyid, key.public, key.note, key.created),
    )
    await add_event(transaction, event)
    return SigningKey(*rows[0])


async def _remove_badges(transaction: Transaction, namespace: str, keyid: str, *, at: int) -> None:
    """Releases that this key signed are signed by their last other signature, if they have one."""
    rows = await transaction.rows(
        "select distinct r.id, r.package from signature s join release r on r.id = s.release"
        " where s.kind = 'ed25519' and s.signer = ? and s.keyid = ? order by r.id",
        (namespace, keyid),
    )
    for release, _ in rows:
        left = await transaction.rows(
            "select s.signer from signature s where s.release = ? and (s.kind <> 'ed25519' or exists ("
            "select 1 from signing_key k where k.namespace = s.signer and k.keyid = s.keyid and k.revoked is null))"
            " order by s.id desc limit 1",
            (release,),
        )
        await transaction.rows("update release set signed = ? where id = ?", (left[0][0] if left else "", release))
    for package_id in sorted({package_id for _, package_id in rows}):
        await refresh_package(transaction, package_id, at=at)


def token_record(row: tuple[object, ...]) -> RegistryToken:
    fields = dict(zip(TOKEN_COLUMNS.split(", "), row, strict=True))
    return RegistryToken(**{**fields, "scopes": tuple(str(fields["scopes"]).split())})  # type: ignore[arg-type]
