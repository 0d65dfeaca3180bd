"""The registry: everything that the API and the pages may ask, over a store, blobs, a clock and a judge."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from metier.registry.blobs import CachedBlobs, open_blobs
from metier.registry.store import open_store

from .access import Tokens
from .admission import ReleaseScanner
from .download_counts import DownloadCounter
from .moderation import Moderation
from .options import ServerOptions
from .ownership import Ownership
from .protocols import BlobStore, RegistryStore
from .publish import Publisher
from .queries import Queries
from .records import Millis
from .signatures import Signatures

__all__ = ["Registry", "now", "open_registry"]


def now() -> Millis:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    options: ServerOptions
    store: RegistryStore
    blobs: BlobStore
    clock: Callable[[], Millis]
    reading: Queries
    publishing: Publisher
    owning: Ownership
    moderating: Moderation
    vouching: Signatures
    tokens: Tokens
    metering: DownloadCounter
    judge: ReleaseScanner | None

    async def ping(self) -> None:
        """Unavailable if the registry could not answer."""
        await self.store.ping()
        await self.blobs.ping()

    async def close(self) -> None:
        try:
            await self.metering.flush()
        finally:
            await self.blobs.close()
            await self.store.close()


async def open_registry(
    options: ServerOptions, *, judge: ReleaseScanner | None = None, clock: Callable[[], Millis] = now
) -> Registry:
    """Connected, migrated, ready."""
    store = await open_store(options.db)
    try:
        blobs = CachedBlobs(open_blobs(options.blobs), size=options.cache_bytes)
        reading = Queries(store, blobs, clock)
        return Registry(
            options=options,
            store=store,
            blobs=blobs,
            clock=clock,
            reading=reading,
            publishing=Publisher(store, blobs, clock, judge),
            owning=Ownership(store, clock),
            moderating=Moderation(store, reading, clock),
            vouching=Signatures(store, reading, clock),
            tokens=Tokens(store),
            metering=await DownloadCounter.start(store, store, clock),
            judge=judge,
        )
    except BaseException:
        await store.close()
        raise
