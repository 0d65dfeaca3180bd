"""Copies all rows of a registry from one store to another, across engines.

Rows are read from one snapshot and written in one transaction, so the target has either all of them or its old rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator

from metier.errors import ConflictError

from .engine import Engine, Row, SnapshotReader, Transaction
from .packages import PACKAGE_COLUMNS, RELEASE_COLUMNS
from .search_index import read_words, write_words
from .sql_store import SqlStore

__all__ = ["copy_rows", "rows_digest"]

_BATCH = 500
_TABLES: dict[str, tuple[str, str]] = {
    # Table: columns and sort order. Referenced tables come first. Sessions and unfinished uploads are not copied.
    "package": (PACKAGE_COLUMNS, "id"),
    "owner": ("package, namespace, place", "package, namespace"),
    "release": (RELEASE_COLUMNS, "id"),
    "tag": ("package, tag, version", "package, tag"),
    "keyword": ("package, word", "package, word"),
    "offer": ("package, namespace, at", "package"),
    "signature": ("id, release, kind, signer, keyid, payload, created", "id"),
    "token": ("id, hashed, prefix, holder, scopes, note, created, expires, revoked, parent", "id"),
    "signing_key": ("id, namespace, keyid, public, note, created, revoked", "id"),
    "report": ("id, package, version, reporter, reason, details, state, created, note, address", "id"),
    "audit": ("id, at, actor, action, subject, details, token, address", "id"),
    "download_day": ("package, day, version, downloads", "package, day, version"),
    "download_seen": ("day, package, identity", "day, package, identity"),
    "job": ("id, kind, subject, due, claimed, attempts, error", "id"),
    "setting": ("key, value", "key"),
    "spelling": ("form, word", "form, word"),
    "package_word": ("package, word", "package, word"),
}
_IDENTITY = "identity-key"


async def copy_rows(source: SqlStore, target: SqlStore) -> dict[str, int]:
    """Returns the number of rows of each table. Raises ConflictError if the target holds another registry."""
    await _check_same(source.engine, target.engine)
    counts: dict[str, int] = {}
    async with source.engine.snapshot() as reader, target.engine.transaction() as transaction:
        await _delete_rows(transaction)
        for table, (columns, order) in _TABLES.items():
            names = columns.split(", ")
            # The audit log is append-only, so existing entries stay.
            there = " on conflict do nothing" if table == "audit" else ""
            one = f"({', '.join('?' * len(names))})"
            counts[table] = 0
            async for batch in _batches(reader, table, columns, order):
                many = ", ".join([one] * len(batch))
                await transaction.rows(
                    f"insert into {table} ({columns}) values {many}{there}", [value for row in batch for value in row]
                )
                counts[table] += len(batch)
            if "id" in names:
                await target.engine.reset_sequence(transaction, table)
        async for package_id, terms in read_words(reader, source.engine.dialect):
            await write_words(transaction, target.engine.dialect, package_id, terms)
    return counts


async def rows_digest(store: SqlStore) -> str:
    """Returns one digest of all rows, equal for equal registries on different engines."""
    whole = hashlib.sha256()
    async with store.engine.snapshot() as reader:
        for table, (columns, order) in _TABLES.items():
            whole.update(f"{table}\n".encode())
            async for batch in _batches(reader, table, columns, order):
                for row in batch:
                    whole.update(json.dumps(row).encode() + b"\n")
        async for package_id, terms in read_words(reader, store.engine.dialect):
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


async def _check_same(source: Engine, target: Engine) -> None:
    question = "select value from setting where key = ?"
    mine, theirs = await source.rows(question, (_IDENTITY,)), await target.rows(question, (_IDENTITY,))
    if theirs and mine != theirs:
        raise ConflictError("the target holds another registry", hint="use an empty database, or the target of an earlier copy")


async def _delete_rows(transaction: Transaction) -> None:
    await transaction.rows("delete from words")
    for table in reversed(_TABLES):
        if table != "audit":
            await transaction.rows(f"delete from {table}")
