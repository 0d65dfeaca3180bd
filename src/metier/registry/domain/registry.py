"""A running registry: its options, its stores and the parts that the API and the pages call."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from metier.errors import RefusedError
from metier.registry.blobs import CachedBlobs, open_blobs
from metier.registry.store import open_store
from metier.registry.workers import WorkBudgetError, WorkerPool, Workers
from metier.scan import SkillTraits
from metier.values import dataclass, field

from .admission import Admission, ReleaseScanner, admit
from .advisories import Advisories, ReadTraits, archive_traits, open_key
from .device_logins import DeviceLogins
from .download_counts import DownloadCounter
from .failed_logins import FailedLogins
from .file_uploads import FileUploads
from .invitations import Invitations
from .moderation import Moderation
from .ownership import Ownership
from .protocols import BlobStore, RegistryStore
from .publish import Admit, Publisher, ReleasePolicy
from .queries import Queries
from .records import Millis, PackageKind
from .reviews import Reviews
from .sessions import PageSessions
from .signatures import Signatures
from .tokens import Tokens
from .trusted_publishers import TRUSTED_ISSUERS, TrustedPublishers
from .turns import UploadTurns
from .users import Users

if TYPE_CHECKING:
    from metier.registry.oidc import JobTokens, OidcProvider

__all__ = [
    "ConnectionLimits",
    "OidcOptions",
    "Registry",
    "RequestRates",
    "ServerOptions",
    "Site",
    "WorkLimits",
    "key_file_beside",
    "now_millis",
    "open_registry",
]

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
class ConnectionLimits:
    """Limits of the connections to one worker. Proxies that are trusted have no limit of their own."""

    total: int = 2_000
    per_client: int = 256
    """Connections from one address, or from one IPv6 network of 64 bits."""
    head_bytes: int = 32 * 1024
    """Bytes of the request line and headers."""
    head_lines: int = 100
    head_seconds: float = 10.0
    """Time for the head of a request."""
    body_seconds: float = 30.0
    body_bytes: int = 64 * 1024
    """Bytes of a body that must arrive in each `body_seconds`."""
    write_seconds: float = 60.0
    """Time in which a client must read some of a response that waits for it."""
    idle_seconds: int = 30
    """Time that a connection stays open without a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLimits:
    """Limits of slow work, which runs in processes of its own, for each worker of the server."""

    check_processes: int = 2
    """Uploads that are checked at the same time. One token has at most one less, if there are several."""
    check_seconds: float = 20.0
    """Processor time to check one upload."""
    page_processes: int = 2
    page_seconds: float = 2.0
    """Processor time to render one document or one comparison."""
    page_wait_seconds: float = 3.0
    """Time that a page waits for its document; then it shows plain text."""
    memory_bytes: int = 512 * _MIB
    """Memory of one process."""
    uploads: int = 64
    """Uploads under way, from the first byte to the answer."""
    uploads_per_token: int = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The name, text and logo of the pages."""

    name: str = ""
    """The name in the header and in titles; empty means the registry's address."""
    welcome: str = ""
    """A text on the start page, in plain words."""
    logo: str = ""
    """The path of an SVG or PNG file; empty means metier's icon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcOptions:
    """Single sign-on with an OpenID provider."""

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    """Empty for a public client, which only PKCE protects."""
    groups_claim: str = "groups"
    roles: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The scopes of each group; `*` is everyone who signs in."""
    allowed_domains: tuple[str, ...] = ()
    """Domains of verified email addresses; empty means all."""


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
    """Days for which a deleted package can be undeleted. Its name and its versions stay reserved after that."""
    rates: RequestRates = field(default_factory=RequestRates)
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)
    work: WorkLimits = field(default_factory=WorkLimits)
    trust_proxy: tuple[str, ...] = ()
    """Addresses and networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed."""
    old_index: bool = False
    """Also serve the index of version 0.1.0 at /.well-known/skills/, which has no digests."""
    proxy_blobs: bool = False
    """Send archives of an object store through the registry instead of redirecting to the store."""
    cache_bytes: int = 32 * _MIB
    """Size of the archive cache in memory."""
    site: Site = field(default_factory=Site)
    log: str = "errors"
    """Log lines on stderr: `errors`, or also every request as `text` or `json`."""
    public_metrics: bool = False
    """Answer /metrics without a token."""
    oidc: OidcOptions | None = None
    trusted_issuers: tuple[str, ...] = TRUSTED_ISSUERS
    """Issuers of ID tokens of CI jobs, for trusted publishing. No other issuer is contacted."""
    token_days: int = 0
    """Days until a new token expires, unless its creator chooses; 0 means never."""
    metrics_folder: str = ""
    """The folder in which the workers of one server save their counters; empty for a single worker."""
    policy: ReleasePolicy = field(default_factory=ReleasePolicy)
    advisory_key: str = ""
    """The file of the private key that signs advisories; empty means `advisories.key` beside a SQLite database."""
    scanner: str = ""
    """Another scanner of uploads, as `module:function`; empty for the rules of the scan alone."""


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
    advisories: Advisories
    reviews: Reviews
    signatures: Signatures
    tokens: Tokens
    sessions: PageSessions
    users: Users
    device_logins: DeviceLogins
    invitations: Invitations
    provider: OidcProvider | None
    """The identity provider of single sign-on."""
    trusted_publishers: TrustedPublishers
    job_tokens: JobTokens | None
    """None without the public address, for which ID tokens are made."""
    failed_logins: FailedLogins
    uploads: FileUploads
    downloads: DownloadCounter
    scanner: ReleaseScanner | None
    workers: Workers

    async def ping(self) -> None:
        """Raises UnavailableError if the database or the archives cannot be reached."""
        await self.store.ping()
        await self.blobs.ping()

    async def close(self) -> None:
        try:
            await self.downloads.flush()
            await self.tokens.flush_uses()
        finally:
            self.workers.close()
            if self.provider:
                await self.provider.close()
            if self.job_tokens:
                await self.job_tokens.close()
            await self.blobs.close()
            await self.store.close()


async def open_registry(
    options: ServerOptions,
    *,
    scanner: ReleaseScanner | None = None,
    clock: Callable[[], Millis] = now_millis,
    workers: Workers | None = None,
) -> Registry:
    """Connects to the stores and migrates the database."""
    store = await open_store(options.db)
    try:
        blobs = CachedBlobs(open_blobs(options.blobs), size=options.cache_bytes)
        queries = Queries(store, blobs, clock)
        work, oidc = options.work, options.oidc
        tokens = Tokens(store, default_days=options.token_days)
        workers = workers or _start_workers(work)
        key = await open_key(store, options.advisory_key or key_file_beside(options.db), at=clock())
        advisories = Advisories(store, blobs, clock, _traits_in_process(workers.checks, work.check_seconds), key)
        turns = UploadTurns(work.check_processes, most=work.uploads, most_per_token=work.uploads_per_token)
        return Registry(
            options=options,
            store=store,
            blobs=blobs,
            clock=clock,
            queries=queries,
            publisher=Publisher(
                store, blobs, clock, _admission(workers.checks, scanner, work.check_seconds), turns, options.policy, advisories
            ),
            ownership=Ownership(store, clock),
            moderation=Moderation(store, queries, clock),
            advisories=advisories,
            reviews=Reviews(store, clock, options.policy),
            signatures=Signatures(store, clock),
            tokens=tokens,
            invitations=Invitations(store, tokens),
            device_logins=DeviceLogins(store, tokens, token_days=options.token_days),
            sessions=PageSessions(store),
            users=Users(store, oidc.roles, oidc.allowed_domains) if oidc else Users(store),
            provider=_provider(oidc, clock) if oidc else None,
            trusted_publishers=TrustedPublishers(store, clock, options.trusted_issuers),
            job_tokens=_job_tokens(options, clock) if options.url else None,
            failed_logins=FailedLogins(store, clock),
            uploads=FileUploads(store, blobs, clock),
            downloads=await DownloadCounter.start(store, store, clock),
            scanner=scanner,
            workers=workers,
        )
    except BaseException:
        await store.close()
        raise


def _provider(options: OidcOptions, clock: Callable[[], Millis]) -> OidcProvider:
    # Imported here: commands that only open the database do not pay for it.
    from metier.registry.oidc import OidcProvider

    return OidcProvider(
        issuer=options.issuer, client_id=options.client_id, client_secret=options.client_secret,
        groups_claim=options.groups_claim, clock=clock,
    )  # fmt: skip


def _job_tokens(options: ServerOptions, clock: Callable[[], Millis]) -> JobTokens:
    from metier.registry.oidc import JobTokens

    return JobTokens(options.trusted_issuers, audience=options.url.rstrip("/"), clock=clock)


def _start_workers(work: WorkLimits) -> Workers:
    # Reading goes before publishing when there are not enough processors for both.
    return Workers(
        WorkerPool(work.check_processes, memory_bytes=work.memory_bytes, most_waiting=work.uploads, niceness=10),
        WorkerPool(work.page_processes, memory_bytes=work.memory_bytes, niceness=5),
    )


def key_file_beside(db: str) -> str:
    """Returns the file of the key of a SQLite database; empty for another engine."""
    parts = urlsplit(db)
    folder, name = os.path.split(unquote(parts.path))
    return os.path.join(folder, "advisories.key") if parts.scheme == "sqlite" and name else ""


def _traits_in_process(checks: WorkerPool, seconds: float) -> ReadTraits:
    async def read(data: bytes) -> SkillTraits:
        return await checks.run(archive_traits, data, seconds=seconds)

    return read


def _admission(checks: WorkerPool, scanner: ReleaseScanner | None, seconds: float) -> Admit:
    async def admit_in_process(data: bytes, kind: PackageKind, version: str | None) -> Admission:
        try:
            return await checks.run(admit, data, kind, scanner, version, seconds=seconds)
        except WorkBudgetError:
            raise RefusedError(
                f"checking the archive takes more than {seconds:g} seconds or too much memory", rule="archive-cost",
                hint="make its files smaller or simpler",
            ) from None  # fmt: skip

    return admit_in_process
