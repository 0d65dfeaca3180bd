"""The registry's store over SQL, for SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable
from urllib.parse import unquote, urlsplit

from metier.errors import UsageError
from metier.registry.domain.protocols import Changes

from .accounts import AccountRows
from .advisories import AdvisoryRows
from .common_terms import CommonTermRows
from .device_logins import DeviceLoginRows
from .downloads import DownloadRows
from .engine import Engine
from .invitations import InvitationRows
from .jobs import JobRows
from .migrate import migrate
from .moderation import ModerationRows
from .packages import PackageRows, read_archives
from .reviews import ReviewRows
from .search import SearchRows
from .sessions import PageSessionRows
from .spellings import SpellingRows
from .sqlite import SqliteEngine
from .trusted_publishers import TrustedPublisherRows
from .users import UserRows

__all__ = ["SqlStore", "open_engine", "open_store"]


class SqlStore(
    PackageRows, SearchRows, CommonTermRows, SpellingRows, ModerationRows, AccountRows, UserRows, DeviceLoginRows,
    InvitationRows, TrustedPublisherRows, PageSessionRows, ReviewRows, DownloadRows, JobRows, AdvisoryRows
):  # fmt: skip
    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def ping(self) -> None:
        await self.engine.rows("select 1")

    async def generation(self) -> Hashable:
        return await self.engine.generation()

    async def changes(self, mark: Hashable) -> Changes:
        return await self.engine.changes(mark)

    async def archives(self) -> AsyncIterator[str]:
        async for name in read_archives(self.engine):
            yield name

    async def close(self) -> None:
        await self.engine.close()


async def open_store(url: str) -> SqlStore:
    """Connects to a database and migrates it."""
    engine = await open_engine(url)
    try:
        await migrate(engine)
    except BaseException:
        await engine.close()
        raise
    return SqlStore(engine)


async def open_engine(url: str) -> Engine:
    parts = urlsplit(url)
    if parts.scheme == "sqlite" and not parts.netloc and parts.path:
        return SqliteEngine(unquote(parts.path))
    if parts.scheme in ("postgresql", "postgres"):
        from .postgres import PostgresEngine

        return await PostgresEngine.connect(url)
    raise UsageError(
        f"{url.split('@')[-1]!r} is not the address of a database", hint="use sqlite:///path/to/file or postgresql://host/name"
    )
