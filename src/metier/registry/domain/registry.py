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
    queries: Queries
    publisher: Publisher
    ownership: Ownership
    moderation: Moderation
    signatures: Signatures
    tokens: Tokens
    downloads: DownloadCounter
    scanner: ReleaseScanner | None

    async def ping(self) -> None:
        """Unavailable if the registry could not answer."""
        await self.store.ping()
        await self.blobs.ping()

    async def close(self) -> None:
        try:
            await self.downloads.flush()
        finally:
            await self.blobs.close()
            await self.store.close()


async def open_registry(
    options: ServerOptions, *, scanner: ReleaseScanner | None = None, clock: Callable[[], Millis] = now
) -> Registry:
    """Connected, migrated, ready."""
    store = await open_store(options.db)
    try:
        blobs = CachedBlobs(open_blobs(options.blobs), size=options.cache_bytes)
        queries = Queries(store, blobs, clock)
        return Registry(
            options=options,
            store=store,
            blobs=blobs,
            clock=clock,
            queries=queries,
            publisher=Publisher(store, blobs, clock, scanner),
            ownership=Ownership(store, clock),
            moderation=Moderation(store, queries, clock),
            signatures=Signatures(store, queries, clock),
            tokens=Tokens(store),
            downloads=await DownloadCounter.start(store, store, clock),
            scanner=scanner,
        )
    except BaseException:
        await store.close()
        raise
