"""Maintenance of a registry: copies and backups, garbage collection, statistics and tokens.

These functions work on the database and the archives directly, without a server. A copy sends archives first, then all rows
in one transaction; an interrupted copy can be repeated and sends no archive twice.
"""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import os
import socket
from collections.abc import AsyncIterator, Callable

from metier.errors import NotFoundError, UnavailableError, UsageError
from metier.values import dataclass

from .blobs import open_blobs
from .domain.access import Caller, local_caller
from .domain.protocols import BlobStore, RegistryStore
from .domain.records import Millis, RegistryToken
from .domain.registry import now_millis
from .domain.tokens import Tokens
from .server.views import token as token_row
from .store import SqlStore, open_store
from .store.row_copy import copy_rows, rows_digest
from .wire import TokenRow

__all__ = [
    "CopyResult",
    "GarbageResult",
    "RegistryLocation",
    "backup",
    "collect_garbage",
    "copy_registry",
    "create_token",
    "delete_unused_archives",
    "list_tokens",
    "migrate",
    "restore",
    "revoke_token",
    "statistics",
]

GRACE_MS = 24 * 3_600_000
"""Archives are written before the rows that name them, so younger ones are never collected."""
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class RegistryLocation:
    """The two addresses of a registry's data."""

    db: str
    """`sqlite:///path` or `postgresql://…`"""
    blobs: str
    """`file:///path`, `s3://bucket`, `gs://bucket` or `az://container`"""

    @classmethod
    def in_folder(cls, folder: str) -> RegistryLocation:
        whole = os.path.abspath(folder)
        return cls(f"sqlite://{whole}/registry.sqlite", f"file://{whole}/blobs")

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[SqlStore, BlobStore]]:
        blobs = open_blobs(self.blobs)
        store = await open_store(self.db)
        try:
            yield store, blobs
        finally:
            await store.close()
            await blobs.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyResult:
    blobs: int
    """Archives copied."""
    known: int
    """Archives that the target already had."""
    bytes: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageResult:
    deleted: int
    bytes: int
    kept: int


def _ignore(_count: int) -> None:
    """The default progress callback."""


async def migrate(
    source: RegistryLocation, target: RegistryLocation, *, on_progress: Callable[[int], None] = _ignore
) -> CopyResult:
    """Copies a registry to other engines. `on_progress` receives the number of archives done."""
    if source == target:
        raise UsageError("source and target are the same registry", hint="pass two different addresses")
    async with source.open() as opened_source, target.open() as opened_target:
        return await copy_registry(opened_source, opened_target, on_progress=on_progress)


async def backup(location: RegistryLocation, folder: str, *, on_progress: Callable[[int], None] = _ignore) -> CopyResult:
    """Copies a registry into a folder, also while it is running. A repeated backup copies only new archives."""
    return await migrate(location, RegistryLocation.in_folder(folder), on_progress=on_progress)


async def restore(folder: str, location: RegistryLocation, *, on_progress: Callable[[int], None] = _ignore) -> CopyResult:
    if not os.path.exists(os.path.join(folder, "registry.sqlite")):
        raise NotFoundError(f"no backup in {folder}", hint="pass the folder given to `metier registry backup`")
    return await migrate(RegistryLocation.in_folder(folder), location, on_progress=on_progress)


async def copy_registry(
    source: tuple[SqlStore, BlobStore], target: tuple[SqlStore, BlobStore], *, on_progress: Callable[[int], None] = _ignore
) -> CopyResult:
    """Copies archives and rows, and compares the result with the source."""
    sent = known = size = 0
    async for name in source[0].archives():
        if await target[1].has(name):
            known += 1
        else:
            data = await source[1].get(name)
            if hashlib.sha256(data).hexdigest() != name:
                raise UnavailableError(f"archive {name} is damaged", hint="restore it from a backup", retryable=False)
            await target[1].put(name, data)
            sent, size = sent + 1, size + len(data)
        on_progress(sent + known)
    counts = await copy_rows(source[0], target[0])
    if await rows_digest(source[0]) != await rows_digest(target[0]):
        raise UnavailableError("the source changed during the copy", hint="run it again; archives are not copied twice")
    return CopyResult(blobs=sent, known=known, bytes=size, rows=sum(counts.values()))


async def collect_garbage(location: RegistryLocation, *, dry_run: bool = False) -> GarbageResult:
    """Deletes archives that no release names and that were written more than a day ago."""
    async with location.open() as (store, blobs):
        now = now_millis()
        done = await delete_unused_archives(store, blobs, now=now, dry_run=dry_run)
        if done.deleted and not dry_run:
            details = f"{done.deleted} archives, {done.bytes} bytes"
            await store.add_event(_shell_user().event(now, "gc", "archives", details))
        return done


async def delete_unused_archives(
    store: RegistryStore, blobs: BlobStore, *, now: Millis, dry_run: bool = False
) -> GarbageResult:
    newest = now - GRACE_MS
    named = {bytes.fromhex(name) async for name in store.archives()}
    deleted = freed = kept = 0
    async for name, written in blobs.names():
        if bytes.fromhex(name) in named or written > newest:
            kept += 1
            continue
        freed += len(await blobs.get(name))
        deleted += 1
        if not dry_run:
            await blobs.delete(name)
    return GarbageResult(deleted=deleted, bytes=freed, kept=kept)


async def statistics(location: RegistryLocation) -> dict[str, int]:
    """Returns the number of packages, releases, downloads and bytes."""
    async with location.open() as (store, _):
        return await store.totals()


async def create_token(
    location: RegistryLocation, holder: str, scopes: tuple[str, ...], *, note: str = "", days: int | None = None
) -> tuple[str, RegistryToken]:
    """Returns the text of a new token, which is not stored, and its record."""
    async with location.open() as (store, _):
        now = now_millis()
        expires = now + days * _DAY_MS if days else None
        return await Tokens(store).create(_shell_user(), holder=holder, scopes=scopes, note=note, expires=expires, now=now)


async def list_tokens(location: RegistryLocation) -> list[TokenRow]:
    async with location.open() as (store, _):
        return [token_row(row) for row in await store.tokens()]


async def revoke_token(location: RegistryLocation, number: int) -> int:
    """Revokes a token and the tokens created with it. Returns their number."""
    async with location.open() as (store, _):
        revoked = await Tokens(store).revoke(_shell_user(), number, now=now_millis())
        if not revoked:
            raise NotFoundError(f"no active token {number}", hint="see `metier registry token list`")
        return revoked


def _shell_user() -> Caller:
    """Returns the caller of a command, as the audit log names it: `cli:USER@HOST`."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return local_caller(f"cli:{user}@{socket.gethostname()}")
