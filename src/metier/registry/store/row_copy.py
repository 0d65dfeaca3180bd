"""Copies all rows of a registry from one store to another, across engines.

Rows are read from one snapshot, and written and compared in one transaction, so the target has either all of them or its old
rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator

from metier.errors import ConflictError, UnavailableError

from .engine import Engine, Row, SnapshotReader, Transaction
from .packages import PACKAGE_COLUMNS, RELEASE_COLUMNS
from .search_index import read_words, write_words
from .sql_store import SqlStore

__all__ = ["check_same", "copy_rows", "releases_of", "rows_digest"]

_BATCH = 500
_NAMED = ("advisory",)
"""Tables whose id is not a number."""
_TABLES: dict[str, tuple[str, str]] = {
    # Table: columns and sort order. Referenced tables come first. Sessions and unfinished uploads are not copied.
    "package": (PACKAGE_COLUMNS, "id"),
    "namespace_setting": ("namespace, review", "namespace"),
    "owner": ("package, namespace, place", "package, namespace"),
    "release": (RELEASE_COLUMNS, "id"),
    "tag": ("package, tag, version", "package, tag"),
    "keyword": ("package, word", "package, word"),
    "quarantine": ("package, status, reason", "package"),
    "tombstone": ("kind, name, version, digest, owners", "kind, name, version"),
    "offer": ("package, namespace, at", "package"),
    "signature": ("id, release, kind, signer, keyid, payload, created", "id"),
    "registry_user": ("id, issuer, subject, name, email, scopes, created, signed_in, disabled", "id"),
    "token": (
        "id, hashed, prefix, holder, scopes, note, created, expires, revoked, parent, user_id, used, publisher_id, provenance",
        "id",
    ),
    "trusted_publisher": ("id, namespace, package, issuer, repository, workflow, ref, environment, created, project_id", "id"),
    "signing_key": ("id, namespace, keyid, public, note, created, revoked", "id"),
    "advisory": ("id, contents, added, withdrawn", "id"),
    "report": ("id, package, version, reporter, reason, details, state, created, note, address", "id"),
    "audit": ("id, at, actor, action, subject, details, token, address", "id"),
    "download_day": ("package, day, version, downloads", "package, day, version"),
    "download_seen": ("day, package, identity", "day, package, identity"),
    "job": ("id, kind, subject, due, claimed, attempts, error", "id"),
    "setting": ("key, value", "key"),
    "spelling": ("form, word", "form, word"),
    "package_word": ("package, word", "package, word"),
}
_AUDIT = "audit"
_IDENTITY = "identity-key"


async def releases_of(reader: SnapshotReader, archive: str) -> str:
    """Returns the names and versions of the releases with this archive, as one text."""
    rows = await reader.rows(
        "select p.name, r.version from release r join package p on p.id = r.package where r.archive = ? order by r.id",
        (archive,),
    )
    return ", ".join(f"{name} {version}" for name, version in rows)


async def check_same(reader: SnapshotReader, target: Engine) -> None:
    """Raises ConflictError if the target holds another registry."""
    question = "select value from setting where key = ?"
    mine, theirs = await reader.rows(question, (_IDENTITY,)), await target.rows(question, (_IDENTITY,))
    if theirs and mine != theirs:
        raise ConflictError("the target holds another registry", hint="use an empty database, or the target of an earlier copy")


async def copy_rows(reader: SnapshotReader, dialect: str, target: SqlStore) -> int:
    """Replaces the target's rows by those of the snapshot, in one transaction. Returns their number."""
    count = 0
    async with target.engine.transaction() as transaction:
        await _delete_rows(transaction)
        for table, (columns, order) in _TABLES.items():
            names = columns.split(", ")
            # The audit log is append-only, so existing entries stay.
            there = " on conflict do nothing" if table == _AUDIT else ""
            one = f"({', '.join('?' * len(names))})"
            async for batch in _batches(reader, table, columns, order):
                many = ", ".join([one] * len(batch))
                await transaction.rows(
                    f"insert into {table} ({columns}) values {many}{there}", [value for row in batch for value in row]
                )
                count += len(batch)
            if "id" in names and table not in _NAMED:
                await target.engine.reset_sequence(transaction, table)
        async for package_id, terms in read_words(reader, dialect):
            await write_words(transaction, target.engine.dialect, package_id, terms)
        last = (await reader.rows(f"select coalesce(max(id), 0) from {_AUDIT}"))[0][0]
        expected = await _digest(reader, dialect, last_event=last)
        if await _digest(transaction, target.engine.dialect, last_event=last) != expected:
            raise UnavailableError("the copied rows differ from the source", hint="run it again; nothing was changed")
    return count


async def rows_digest(store: SqlStore) -> str:
    """Returns one digest of all rows, equal for equal registries on different engines."""
    async with store.engine.snapshot() as reader:
        return await _digest(reader, store.engine.dialect, last_event=1 << 62)


async def _digest(reader: SnapshotReader, dialect: str, *, last_event: int) -> str:
    """Leaves out later entries of the audit log, which a target keeps when an older backup is restored into it."""
    whole = hashlib.sha256()
    for table, (columns, order) in _TABLES.items():
        whole.update(f"{table}\n".encode())
        async for batch in _batches(reader, table, columns, order):
            for row in batch:
                if table != _AUDIT or row[0] <= last_event:
                    whole.update(json.dumps(row).encode() + b"\n")
    async for package_id, terms in read_words(reader, dialect):
        whole.update(f"{package_id} {[sorted(column) for column in terms]}\n".encode())
    return whole.hexdigest()


async def _batches(reader: SnapshotReader, table: str, columns: str, order: str) -> AsyncIterator[list[Row]]:
    """Yields rows by key and not by offset, so that every batch costs the same."""
    keys = order.split(", ")
    names = columns.split(", ")
    places = [names.index(key) for key in keys]
    after: tuple[object, ...] = ()
    # PostgreSQL sorts text by locale by default, SQLite by bytes.
    text = reader.text_order
    ordered = ", ".join(key if key in ("id", "package") else f"{key}{text}" for key in keys)
    while True:
        marks = ", ".join("?" * len(keys))
        where = f" where ({ordered}) > ({marks})" if after else ""
        rows = await reader.rows(f"select {columns} from {table}{where} order by {ordered} limit ?", (*after, _BATCH))
        if rows:
            yield rows
        if len(rows) < _BATCH:
            return
        after = tuple(rows[-1][place] for place in places)


async def _delete_rows(transaction: Transaction) -> None:
    await transaction.rows("delete from words")
    for table in reversed(_TABLES):
        if table != _AUDIT:
            await transaction.rows(f"delete from {table}")
