"""The Store over SQL: one class, written once, for both engines."""

from __future__ import annotations

from collections.abc import AsyncIterator

from .accounts import AccountRows
from .downloads import DownloadRows
from .engine import Engine
from .jobs import JobRows
from .moderation import ModerationRows
from .packages import PackageRows
from .search import SearchRows

__all__ = ["SqlStore"]

_BATCH = 1_000


class SqlStore(PackageRows, SearchRows, ModerationRows, AccountRows, DownloadRows, JobRows):
    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def ping(self) -> None:
        await self.engine.rows("select 1")

    async def archives(self) -> AsyncIterator[str]:
        after = ""
        while rows := await self.engine.rows(
            "select distinct archive from release where archive > ? order by archive limit ?", (after, _BATCH)
        ):
            for row in rows:
                yield row[0]
            after = rows[-1][0]

    async def close(self) -> None:
        await self.engine.close()
