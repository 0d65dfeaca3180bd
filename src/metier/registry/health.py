"""Checks of a registry for `metier doctor`: its database, its archives, the free disk and the clocks.

They change no rows and no archives, and may run beside a server.
"""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Callable
from urllib.parse import unquote, urlsplit

from metier.errors import MetierError
from metier.values import dataclass

from .blobs import is_intact, open_blobs
from .domain.protocols import BlobStore
from .domain.records import Millis
from .domain.registry import now_millis
from .location import RegistryLocation
from .maintenance import GRACE_MS
from .store.engine import Engine
from .store.migrate import migrations
from .store.packages import read_archives
from .store.sql_store import open_engine

__all__ = ["RegistryCheck", "check_registry"]

_SAMPLE = 200
_SKEW_MS = 5_000
_GIB = 1 << 30
_LEAST_FREE = _GIB // 10
_RESTORE = "restore a backup: `metier registry restore FOLDER`"


@dataclass(frozen=True, slots=True)
class RegistryCheck:
    name: str
    level: str
    """ok, warning or error."""
    text: str
    hint: str = ""


async def check_registry(
    location: RegistryLocation, *, all_archives: bool = False, clock: Callable[[], Millis] = now_millis
) -> AsyncIterator[RegistryCheck]:
    """Yields one check for each part. Compares a sample of the archives with their digests, or all of them."""
    file = _path(location.db, "sqlite")
    if file is not None and not os.path.exists(file):
        yield RegistryCheck("registry", "error", f"{file} does not exist", "`metier registry serve` creates it")
        return
    try:
        engine = await open_engine(location.db)
        try:
            database = await _check_database(engine, file)
            yield database
            if database.level == "error":
                return
            blobs = open_blobs(location.blobs)
            try:
                async for check in _check_archives(engine, blobs, all_archives=all_archives, now=clock()):
                    yield check
                yield await _check_clocks(engine, blobs, clock)
            finally:
                await blobs.close()
        finally:
            await engine.close()
    except MetierError as error:
        yield RegistryCheck("registry", "error", str(error), error.hint)
    for place in dict.fromkeys((file, _path(location.blobs, "file"))):
        if place is not None:
            yield _check_disk(place)


async def _check_database(engine: Engine, file: str | None) -> RegistryCheck:
    if file is not None:
        found = [row[0] for row in await engine.rows("pragma integrity_check(3)", slow=True)]
        if found != ["ok"]:
            return RegistryCheck(
                "registry", "error", f"{file} is damaged: {'; '.join(found)}", f"stop the server and {_RESTORE}"
            )
        orphans = await engine.rows("pragma foreign_key_check", slow=True)
        if orphans:
            return RegistryCheck("registry", "error", f"rows that refer to missing rows: {len(orphans):,}", _RESTORE)
    applied = max([row[0] for row in await engine.rows("select number from migration")], default=0)
    known = migrations(engine.dialect)[-1].number
    if applied > known:
        return RegistryCheck("registry", "error", "the database was written by a newer metier", "update metier")
    (counts,) = await engine.rows("select (select count(*) from package), (select count(*) from release)")
    text = f"packages: {counts[0]:,}, releases: {counts[1]:,} in {file or engine.dialect}"
    if applied < known:
        return RegistryCheck("registry", "warning", f"{text}; its schema is old", "`metier registry stats` updates it")
    return RegistryCheck("registry", "ok", text)


async def _check_archives(engine: Engine, blobs: BlobStore, *, all_archives: bool, now: Millis) -> AsyncIterator[RegistryCheck]:
    # Rows first: a publish writes its archive before its rows, so the archives of these rows are in a later list.
    named = {name async for name in read_archives(engine)}
    stored = {name: written async for name, written, _ in blobs.names()}
    missing = sorted(named - stored.keys())
    if missing:
        yield RegistryCheck("archives", "error", f"missing: {len(missing):,}, such as {missing[0]}", _RESTORE)
    unused = [name for name, written in stored.items() if name not in named and written <= now - GRACE_MS]
    if unused:
        yield RegistryCheck(
            "archives", "warning", f"not used by any release: {len(unused):,}", "`metier registry gc` deletes them"
        )
    present = sorted(named & stored.keys())
    chosen = present if all_archives else random.sample(present, min(_SAMPLE, len(present)))
    damaged = [name for name in chosen if not await is_intact(blobs, name)]
    if damaged:
        yield RegistryCheck("archives", "error", f"damaged: {len(damaged):,}, such as {damaged[0]}", _RESTORE)
    elif not missing:
        share = "" if len(chosen) == len(present) else "; `metier doctor --all-archives` checks all"
        yield RegistryCheck("archives", "ok", f"{len(chosen):,} of {len(present):,} match their digests{share}")


async def _check_clocks(engine: Engine, blobs: BlobStore, clock: Callable[[], Millis]) -> RegistryCheck:
    clocks = {"the archives": await blobs.clock()}
    if engine.dialect == "postgresql":
        rows = await engine.rows("select cast(extract(epoch from clock_timestamp()) * 1000 as bigint)")
        clocks["the database"] = rows[0][0]
    now = clock()
    for name, theirs in clocks.items():
        if abs(theirs - now) > _SKEW_MS:
            text = f"the clock of {name} is {abs(theirs - now) / 1000:,.0f} s {'ahead' if theirs > now else 'behind'}"
            return RegistryCheck("clock", "warning", text, "synchronise the clocks: `timedatectl set-ntp true`")
    return RegistryCheck("clock", "ok", "database, archives and this machine agree")


def _check_disk(place: str) -> RegistryCheck:
    folder = place
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    status = os.statvfs(folder)
    free = status.f_bavail * status.f_frsize
    text = f"{free / _GIB:,.1f} GiB free for {place}"
    if free < _LEAST_FREE:
        return RegistryCheck("disk", "error", text, "free space: `metier registry gc` deletes unused archives")
    if free < _GIB:
        return RegistryCheck("disk", "warning", text, "free space: `metier registry gc` deletes unused archives")
    return RegistryCheck("disk", "ok", text)


def _path(url: str, scheme: str) -> str | None:
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == scheme else None
