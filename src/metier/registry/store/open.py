"""An address to a store."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from metier.errors import UsageError

from .engine import Engine
from .migrate import migrate
from .sql_store import SqlStore
from .sqlite import SqliteEngine

__all__ = ["open_engine", "open_store"]


async def open_store(url: str) -> SqlStore:
    """Ready to use: connected, and brought up to date."""
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
        f"{url.split('@')[-1]!r} is no address of a database", hint="write sqlite:///path/to/file or postgresql://host/name"
    )
