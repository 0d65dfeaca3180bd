"""A whole registry to another place: bytes first, then all rows at once. A backup is such a copy, into a folder.

What was interrupted is done again: bytes that are there are not sent twice, and rows are all there or none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from metier.errors import UnavailableError

from .domain.protocols import BlobStore, RegistryStore
from .domain.records import Millis
from .store import SqlStore
from .store.row_copy import copy_rows, rows_digest

__all__ = ["CopyResult", "GarbageResult", "collect_garbage", "copy_registry"]

GRACE_MS = 24 * 3_600_000
"""A blob is written before the rows that name it; what is younger than that may still be waiting for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyResult:
    blobs: int
    """Sent now."""
    known: int
    """There already."""
    bytes: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageResult:
    deleted: int
    bytes: int
    kept: int


async def copy_registry(
    source: tuple[SqlStore, BlobStore], target: tuple[SqlStore, BlobStore], *, told: Callable[[int], None] = lambda _: None
) -> CopyResult:
    """Copy and compare. `told` hears how many blobs are done."""
    sent = known = size = 0
    async for name in source[0].archives():
        if await target[1].has(name):
            known += 1
        else:
            data = await source[1].get(name)
            if hashlib.sha256(data).hexdigest() != name:
                raise UnavailableError(f"the archive {name} is damaged", hint="restore it from a backup", retryable=False)
            await target[1].put(name, data)
            sent, size = sent + 1, size + len(data)
        told(sent + known)
    counts = await copy_rows(source[0], target[0])
    if await rows_digest(source[0]) != await rows_digest(target[0]):
        raise UnavailableError("the source changed while it was copied", hint="run it again; what was sent is not sent twice")
    return CopyResult(blobs=sent, known=known, bytes=size, rows=sum(counts.values()))


async def collect_garbage(
    store: RegistryStore, blobs: BlobStore, *, now: Millis, grace: int = GRACE_MS, dry_run: bool = False
) -> GarbageResult:
    """Delete bytes that no release names and that are not about to be named."""
    named = {bytes.fromhex(name) async for name in store.archives()}
    deleted = freed = kept = 0
    async for name, written in blobs.names():
        if bytes.fromhex(name) in named or written > now - grace:
            kept += 1
            continue
        freed += len(await blobs.get(name))
        deleted += 1
        if not dry_run:
            await blobs.delete(name)
    return GarbageResult(deleted=deleted, bytes=freed, kept=kept)
