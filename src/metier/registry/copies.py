"""Copies of a registry: backups, and moves to other engines.

A copy reads the rows from one snapshot of the source, which may be in use. It copies exactly the archives that the snapshot
names, then writes the rows in one transaction of the target and compares them there. So the target has either a whole
registry or what it had before. An interrupted copy can be repeated and sends no archive twice.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

from metier.errors import NotFoundError, UnavailableError, UsageError
from metier.sources import file_lock
from metier.values import dataclass

from .blobs import is_intact
from .domain.protocols import BlobStore
from .location import RegistryLocation
from .store import SqlStore
from .store.packages import read_archives
from .store.row_copy import check_same, copy_rows, releases_of

__all__ = ["CopyResult", "backup", "changes_since", "copy_registry", "migrate", "restore"]

_DATABASE = "registry.sqlite"
_PARTIAL = "registry.partial.sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyResult:
    blobs: int
    """Archives copied."""
    known: int
    """Archives that the target already had."""
    bytes: int
    rows: int


def _ignore(_count: int) -> None:
    """The default progress callback."""


async def migrate(
    source: RegistryLocation, target: RegistryLocation, *, on_progress: Callable[[int], None] = _ignore
) -> CopyResult:
    """Copies a registry to other engines. `on_progress` receives the number of archives done."""
    if source == target:
        raise UsageError("source and target are the same registry", hint="pass two different addresses")
    async with source.open() as opened_source, target.open() as opened_target:
        return await copy_registry(opened_source, opened_target, on_progress=on_progress)


async def backup(location: RegistryLocation, folder: str, *, on_progress: Callable[[int], None] = _ignore) -> CopyResult:
    """Copies a registry into a folder, also while it is running. A repeated backup copies only new archives.

    The database of a first backup gets its name when the copy is complete, so a failed backup cannot be restored.
    """
    target = RegistryLocation.in_folder(folder)
    database, partial = os.path.join(folder, _DATABASE), os.path.join(folder, _PARTIAL)
    with _explain(folder), file_lock(database):
        if os.path.exists(database):
            return await migrate(location, target, on_progress=on_progress)
        _delete_partial(partial)
        unfinished = RegistryLocation(f"sqlite://{os.path.abspath(partial)}", target.blobs)
        result = await migrate(location, unfinished, on_progress=on_progress)
        os.rename(partial, database)
        return result


async def restore(folder: str, location: RegistryLocation, *, on_progress: Callable[[int], None] = _ignore) -> CopyResult:
    if not os.path.exists(os.path.join(folder, _DATABASE)):
        raise NotFoundError(f"no backup in {folder}", hint="pass the folder given to `metier registry backup`")
    return await migrate(RegistryLocation.in_folder(folder), location, on_progress=on_progress)


async def changes_since(folder: str, location: RegistryLocation) -> int:
    """Returns the number of entries that the audit log of a registry has after its backup: a restore undoes these changes."""
    if not os.path.exists(os.path.join(folder, _DATABASE)):
        return 0
    last = "select coalesce(max(id), 0) from audit"
    async with RegistryLocation.in_folder(folder).open() as (source, _), location.open() as (target, _):
        async with source.engine.snapshot() as reader:
            await check_same(reader, target.engine)
            before = (await reader.rows(last))[0][0]
        after = (await target.engine.rows(last))[0][0]
    return int(max(0, after - before))


async def copy_registry(
    source: tuple[SqlStore, BlobStore], target: tuple[SqlStore, BlobStore], *, on_progress: Callable[[int], None] = _ignore
) -> CopyResult:
    """Copies the archives and rows of one moment, and compares the result with the source."""
    sent = known = size = 0
    async with source[0].engine.snapshot() as reader:
        await check_same(reader, target[0].engine)
        async for name in read_archives(reader):
            if await is_intact(target[1], name):
                known += 1
            else:
                try:
                    data = await source[1].get(name)
                except NotFoundError as error:
                    raise UnavailableError(
                        f"archive {name} of {await releases_of(reader, name)} is missing; no rows were copied",
                        hint="restore a backup with `metier registry restore FOLDER`, or publish the same files again",
                        retryable=False,
                    ) from error
                await target[1].put(name, data)
                sent, size = sent + 1, size + len(data)
            on_progress(sent + known)
        rows = await copy_rows(reader, source[0].engine.dialect, target[0])
    return CopyResult(blobs=sent, known=known, bytes=size, rows=rows)


def _delete_partial(partial: str) -> None:
    """Deletes the database of an interrupted backup. The lock of its folder shows that no process uses it."""
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{partial}{suffix}")


@contextlib.contextmanager
def _explain(folder: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UnavailableError(
            f"cannot write to {folder}: {(error.strerror or str(error)).lower()}", hint="pass a folder that you can write"
        ) from error
