"""A running registry: its options, its stores and the parts that the API and the pages call."""

from __future__ import annotations

import time
from collections.abc import Callable

from metier.registry.blobs import CachedBlobs, open_blobs
from metier.registry.store import open_store
from metier.values import dataclass, field

from .admission import ReleaseScanner
from .download_counts import DownloadCounter
from .failed_logins import FailedLogins
from .file_uploads import FileUploads
from .moderation import Moderation
from .ownership import Ownership
from .protocols import BlobStore, RegistryStore
from .publish import Publisher
from .queries import Queries
from .records import Millis
from .sessions import PageSessions
from .signatures import Signatures
from .tokens import Tokens

__all__ = ["Registry", "RequestRates", "ServerOptions", "now_millis", "open_registry"]

_MIB = 1024 * 1024


def now_millis() -> Millis:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRates:
    """Requests per minute, from one address and with one token; 0 means no limit. Each worker counts separately."""

    read: tuple[int, int] = (6_000, 24_000)
    download: tuple[int, int] = (2_400, 12_000)
    write: tuple[int, int] = (300, 3_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    db: str
    """`sqlite:///path` or `postgresql://…`"""
    blobs: str
    """`file:///path`, `s3://bucket?endpoint=…`, `gs://bucket` or `az://container`"""
    url: str = ""
    """The public address of the registry; empty means the address of each request."""
    upload_bytes: int = 20 * _MIB
    """Maximum size of one archive."""
    reserved_days: int = 30
    """Days for which the name of a deleted package stays reserved for its owners."""
    rates: RequestRates = field(default_factory=RequestRates)
    trust_proxy: bool = False
    """Take the client address from X-Forwarded-For, which a trusted proxy sets."""
    old_index: bool = False
    """Also serve the index of version 0.1.0 at /.well-known/skills/, which has no digests."""
    proxy_blobs: bool = False
    """Send archives of an object store through the registry instead of redirecting to the store."""
    cache_bytes: int = 32 * _MIB
    """Size of the archive cache in memory."""


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
    sessions: PageSessions
    failed_logins: FailedLogins
    uploads: FileUploads
    downloads: DownloadCounter
    scanner: ReleaseScanner | None

    async def ping(self) -> None:
        """Raises UnavailableError if the database or the archives cannot be reached."""
        await self.store.ping()
        await self.blobs.ping()

    async def close(self) -> None:
        try:
            await self.downloads.flush()
        finally:
            await self.blobs.close()
            await self.store.close()


async def open_registry(
    options: ServerOptions, *, scanner: ReleaseScanner | None = None, clock: Callable[[], Millis] = now_millis
) -> Registry:
    """Connects to the stores and migrates the database."""
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
            sessions=PageSessions(store),
            failed_logins=FailedLogins(store, clock),
            uploads=FileUploads(store, blobs, clock),
            downloads=await DownloadCounter.start(store, store, clock),
            scanner=scanner,
        )
    except BaseException:
        await store.close()
        raise
