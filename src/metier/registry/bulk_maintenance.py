"""Maintenance of every release: scanned again with the rules of today, or indexed again for the search.

The work on each archive goes through `metier.bulk`, to processes of this machine or a Ray cluster. A part of the releases is
read, done and written at a time, so that a registry of any size fits into memory, and so do large archives.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeVar

from metier.archive import unpack
from metier.bulk import BulkMap, ItemFailure, ResultJournal, map_items
from metier.errors import MetierError, plural
from metier.spec import SKILL_FILE, split_document
from metier.values import dataclass

from .domain.admission import AGENT_FILE
from .domain.advisories import stored_advisories, with_known_bad
from .domain.protocols import BlobStore, RegistryStore
from .domain.records import Package, PackageKind, Release
from .domain.registry import now_millis
from .domain.rescans import Rescan, named_scanner, record_rescan, rescan_archive
from .location import RegistryLocation
from .maintenance import shell_user

__all__ = ["ChangedVerdict", "ReindexResult", "RescanResult", "reindex_packages", "rescan_releases"]

T = TypeVar("T")
_Item = tuple[str, str, bytes]
_PART = 200
_PART_BYTES = 64 * 1024 * 1024
_LONGEST_FILE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ChangedVerdict:
    release: str
    """NAME@VERSION."""
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RescanResult:
    counts: dict[str, int]
    """Releases by verdict."""
    changed: tuple[ChangedVerdict, ...]
    failed: tuple[tuple[str, str], ...]
    """Releases that could not be scanned, with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexResult:
    indexed: int
    failed: tuple[tuple[str, str], ...]


async def rescan_releases(
    location: RegistryLocation, *, on: BulkMap, scanner: str = "", journal: ResultJournal | None = None,
    dry_run: bool = False, advance: Callable[[int], object] = lambda _: None, part_bytes: int = _PART_BYTES,
) -> RescanResult:  # fmt: skip
    """Scans every release again. A release whose verdict becomes block is quarantined; equal results change nothing."""
    counts: dict[str, int] = {}
    changed, failed = [], []
    async with location.open() as (store, blobs):
        advisories = await stored_advisories(store)
        every = _map_releases(
            store, blobs, _rescan, lambda package, _: (scanner, package.name), on, journal, advance, part_bytes
        )
        async for package, release, result in every:
            name = f"{package.name}@{release.version}"
            if isinstance(result, ItemFailure):
                failed.append((name, result.reason))
                continue
            owners = await store.owners(package.id) if advisories else ()
            result = with_known_bad(result, advisories, package, release, owners)
            counts[result.verdict] = counts.get(result.verdict, 0) + 1
            if result.verdict != release.verdict:
                changed.append(ChangedVerdict(name, release.verdict, result.verdict))
            # An administrator may have put a blocked release online again: only news change that.
            if not dry_run and (result.verdict, result.findings_json) != (release.verdict, release.findings):
                await record_rescan(store, package, release, result, at=now_millis())
        if not dry_run:
            details = f"{plural(sum(counts.values()), 'release')}, {plural(len(changed), 'other verdict')}"
            await store.add_event(shell_user().event(now_millis(), "rescan-all", "releases", details))
    return RescanResult(counts=counts, changed=tuple(changed), failed=tuple(failed))


async def reindex_packages(
    location: RegistryLocation, *, on: BulkMap, advance: Callable[[int], object] = lambda _: None,
    part_bytes: int = _PART_BYTES,
) -> ReindexResult:  # fmt: skip
    """Writes the search index of every package again, from its current release."""
    indexed, failed = 0, []
    async with location.open() as (store, blobs):
        every = _map_releases(store, blobs, _body, _current, on, None, advance, part_bytes)
        async for package, release, body in every:
            if isinstance(body, ItemFailure):
                failed.append((f"{package.name}@{release.version}", body.reason))
            else:
                await store.index_body(package.id, release.version, body)
                indexed += 1
    return ReindexResult(indexed=indexed, failed=tuple(failed))


async def _map_releases(
    store: RegistryStore, blobs: BlobStore, function: Callable[[_Item], T],
    choose: Callable[[Package, Release], tuple[str, str] | None], on: BulkMap, journal: ResultJournal | None,
    advance: Callable[[int], object], part_bytes: int,
) -> AsyncIterator[tuple[Package, Release, T | ItemFailure]]:  # fmt: skip
    """Yields the result for each release that `choose` gives the first two parts of an item."""
    after = 0
    while page := await store.release_page(after=after, limit=_PART):
        after = page[-1][1].id
        chosen = [(package, release, head) for package, release in page if (head := choose(package, release)) is not None]
        while chosen:
            archives = await _read(blobs, [release for _, release, _ in chosen], part_bytes)
            part, chosen = chosen[: len(archives)], chosen[len(archives) :]
            items = [(*head, data) for (_, _, head), data in zip(part, archives, strict=True) if isinstance(data, bytes)]
            done = iter(await asyncio.to_thread(map_items, function, items, on=on, journal=journal))
            for (package, release, _), data in zip(part, archives, strict=True):
                yield package, release, next(done) if isinstance(data, bytes) else data
        advance(len(page))


async def _read(blobs: BlobStore, releases: Sequence[Release], most: int) -> list[bytes | ItemFailure]:
    """Returns the archives of the first releases: one, and more up to this number of bytes."""
    found: list[bytes | ItemFailure] = []
    size = 0
    for release in releases:
        if size >= most:
            break
        try:
            data = await blobs.get(release.archive)
        except MetierError as error:
            found.append(ItemFailure(f"its archive cannot be read: {error}"))
        else:
            found.append(data)
            size += len(data)
    return found


def _rescan(item: _Item) -> Rescan:
    scanner, name, data = item
    return rescan_archive(named_scanner(scanner), data, name)


def _current(package: Package, release: Release) -> tuple[str, str] | None:
    return (package.kind, package.name) if package.version == release.version else None


def _body(item: _Item) -> str:
    kind, _, data = item
    file = SKILL_FILE if kind == PackageKind.SKILL else AGENT_FILE
    return split_document(unpack(data).read(file, limit=_LONGEST_FILE)).body
