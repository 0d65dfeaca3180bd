"""`metier registry migrate|backup|restore|gc|stats` and `metier registry token`: looking after a registry of one's own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.errors import NotFoundError, UsageError

from .serve import registry_options

if TYPE_CHECKING:
    from metier.registry.domain.protocols import BlobStore
    from metier.registry.maintenance import CopyResult
    from metier.registry.store import SqlStore

__all__ = ["backup", "create_token", "gc", "list_tokens", "migrate", "restore", "revoke_token", "stats"]

Place = tuple[str, str]
_db = click.option("--db", help="Where rows are kept, if not where the settings say.")
_blobs = click.option("--blobs", help="Where archives are kept, if not where the settings say.")


@command("registry", "migrate")
@click.option("--from", "source", nargs=2, metavar="DB BLOBS", help="Two addresses; the registry of the settings if absent.")
@click.option("--to", "target", nargs=2, required=True, metavar="DB BLOBS", help="Two addresses.")
def migrate(app: App, *, source: Place | None, target: Place) -> Result:
    """Copy a registry to other engines: SQLite to PostgreSQL, files to S3, or back.

    Archives are copied first and compared by their digests, then all rows in one transaction. Stop the server meanwhile; an
    interrupted copy goes on where it was.
    """
    return _copied(_place(app, source), target, "copied")


@command("registry", "backup")
@click.argument("folder", type=click.Path(file_okay=False))
@_db
@_blobs
def backup(app: App, *, folder: str, db: str | None, blobs: str | None) -> Result:
    """Copy a registry into a folder, while it runs. The same folder again only adds what is new."""
    return _copied(_place(app, None, db, blobs), _in_folder(folder), f"backed up to {folder}")


@command("registry", "restore")
@click.argument("folder", type=click.Path(file_okay=False))
@_db
@_blobs
def restore(app: App, *, folder: str, db: str | None, blobs: str | None) -> Result:
    """Bring back what `backup` copied, into an empty registry or the one it came from."""
    if not os.path.exists(os.path.join(folder, "registry.sqlite")):
        raise NotFoundError(f"{folder} holds no backup", hint="name the folder that was given to `metier registry backup`")
    return _copied(_in_folder(folder), _place(app, None, db, blobs), f"restored from {folder}")


@command("registry", "gc")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@_db
@_blobs
def gc(app: App, *, dry_run: bool, db: str | None, blobs: str | None) -> Result:
    """Delete archives that no release names, a day after they were written."""
    place = _place(app, None, db, blobs)

    async def work() -> Result:
        from metier.registry.domain.registry import now
        from metier.registry.maintenance import collect_garbage

        async with _opened(place) as (store, held):
            found = await collect_garbage(store, held, now=now(), dry_run=dry_run)
        verb = "would delete" if dry_run else "deleted"
        line = f"{verb} {found.deleted:,} archives, {found.bytes:,} bytes; kept {found.kept:,}"
        data = {"deleted": found.deleted, "bytes": found.bytes, "kept": found.kept, "dry_run": dry_run}
        return Result(data=data, lines=lambda _: (line,))

    return asyncio.run(work())


@command("registry", "stats")
@_db
def stats(app: App, *, db: str | None) -> Result:
    """Say how much a registry holds."""
    place = _place(app, None, db)

    async def work() -> Result:
        async with _opened(place) as (store, _):
            totals = await store.totals()
        return Result(data=totals, lines=lambda _: tuple(f"{name:<10} {count:>15,}" for name, count in totals.items()))

    return asyncio.run(work())


@command("registry token", "create")
@click.argument("holder")
@click.option("--scope", "scopes", multiple=True, required=True, help="read, publish:NAMESPACE, yank or admin; several times.")
@click.option("--days", type=click.IntRange(1, 3650), help="Until it expires; never if absent.")
@click.option("--note", default="", help="What it is for.")
@_db
def create_token(app: App, *, holder: str, scopes: tuple[str, ...], days: int | None, note: str, db: str | None) -> Result:
    """Make a token for HOLDER, straight in the database. It is shown once."""
    place = _place(app, None, db)

    async def work() -> Result:
        from metier.registry.domain.access import LOCAL, Tokens
        from metier.registry.domain.registry import now

        async with _opened(place) as (store, _):
            at = now()
            expires = at + days * 86_400_000 if days else None
            text, row = await Tokens(store).create(LOCAL, holder=holder, scopes=scopes, note=note, expires=expires, now=at)
        return Result(data={"token": text, "id": row.id, "holder": holder, "scopes": list(scopes)}, lines=lambda _: (text,))

    return asyncio.run(work())


@command("registry token", "list")
@_db
def list_tokens(app: App, *, db: str | None) -> Result:
    """List all tokens by their first characters."""
    place = _place(app, None, db)

    async def work() -> Result:
        from metier.registry.server import views as presenting

        async with _opened(place) as (store, _):
            rows = [presenting.token(row) for row in await store.tokens()]
        lines = [
            f"{row.id:>5}  {row.prefix}…  {row.holder}  {' '.join(row.scopes)}"
            + (f"  until {row.expires}" if row.expires else "")
            + ("  revoked" if row.revoked else "")
            for row in rows
        ]
        fields = ("id", "prefix", "holder", "scopes", "note", "created", "expires", "revoked")
        return Result(data={"tokens": [{name: getattr(row, name) for name in fields} for row in rows]}, lines=lambda _: lines)

    return asyncio.run(work())


@command("registry token", "revoke")
@click.argument("number", type=int)
@_db
def revoke_token(app: App, *, number: int, db: str | None) -> Result:
    """End a token, by the number that `list` shows."""
    place = _place(app, None, db)

    async def work() -> Result:
        from metier.registry.domain.access import LOCAL, Tokens
        from metier.registry.domain.registry import now

        async with _opened(place) as (store, _):
            if not await Tokens(store).revoke(LOCAL, number, now=now()):
                raise NotFoundError(
                    f"there is no token {number} that could be revoked", hint="see `metier registry token list`"
                )
        return Result(data={"id": number}, lines=lambda _: (f"revoked {number}",))

    return asyncio.run(work())


def _copied(source: Place, target: Place, done: str) -> Result:
    if source == target:
        raise UsageError("source and target are the same registry", hint="name two")

    async def work() -> Result:
        from metier.registry.maintenance import copy_registry

        async with _opened(source) as mine, _opened(target) as theirs:
            found: CopyResult = await copy_registry(mine, theirs, told=_progress)
        line = (
            f"{done}: {found.rows:,} rows, {found.blobs:,} archives ({found.bytes:,} bytes), {found.known:,} were there already"
        )
        data = {"rows": found.rows, "archives": found.blobs, "bytes": found.bytes, "known": found.known}
        return Result(data=data, lines=lambda _: (line,))

    return asyncio.run(work())


def _progress(count: int) -> None:
    if count % 500 == 0 and sys.stderr.isatty():
        sys.stderr.write(f"\r{count:,} archives")
        sys.stderr.flush()


def _place(app: App, given: Place | None, db: str | None = None, blobs: str | None = None) -> Place:
    options = registry_options(app, db=db, blobs=blobs)
    return given or (options.db, options.blobs)


def _in_folder(folder: str) -> Place:
    whole = os.path.abspath(folder)
    return f"sqlite://{whole}/registry.sqlite", f"file://{whole}/blobs"


@contextlib.asynccontextmanager
async def _opened(place: Place) -> AsyncIterator[tuple[SqlStore, BlobStore]]:
    from metier.registry.blobs import open_blobs
    from metier.registry.store import open_store

    blobs = open_blobs(place[1])
    store = await open_store(place[0])
    try:
        yield store, blobs
    finally:
        await store.close()
        await blobs.close()
