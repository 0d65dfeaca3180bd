"""The registry: everything that the API and the pages may ask, over a store, blobs, a clock and a judge."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from .access import Tokens
from .admission import Judge
from .blobs import CachedBlobs, open_blobs
from .metering import Metering
from .model import Moment
from .moderating import Moderating
from .options import Options
from .owning import Owning
from .ports import Blobs, Store
from .publishing import Publishing
from .reading import Reading
from .store import open_store
from .vouching import Vouching

__all__ = ["Registry", "now", "open_registry"]


def now() -> Moment:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    options: Options
    store: Store
    blobs: Blobs
    clock: Callable[[], Moment]
    reading: Reading
    publishing: Publishing
    owning: Owning
    moderating: Moderating
    vouching: Vouching
    tokens: Tokens
    metering: Metering
    judge: Judge | None

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


async def open_registry(options: Options, *, judge: Judge | None = None, clock: Callable[[], Moment] = now) -> Registry:
    """Connected, migrated, ready."""
    store = await open_store(options.db)
    try:
        blobs = CachedBlobs(open_blobs(options.blobs), size=options.cache_bytes)
        reading = Reading(store, blobs, clock)
        return Registry(
            options=options,
            store=store,
            blobs=blobs,
            clock=clock,
            reading=reading,
            publishing=Publishing(store, blobs, clock, judge),
            owning=Owning(store, clock),
            moderating=Moderating(store, reading, clock),
            vouching=Vouching(store, reading, clock),
            tokens=Tokens(store),
            metering=await Metering.start(store, store, clock),
            judge=judge,
        )
    except BaseException:
        await store.close()
        raise
