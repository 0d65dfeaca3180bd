"""Read access to the registry. Packages that the caller may not read are reported as not found."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import logging
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta

from metier.errors import MetierError, NotFoundError, RefusedError, UnavailableError, UsageError
from metier.registry.blobs import LARGEST_CACHED
from metier.registry.wire import DownloadDay
from metier.spec import SKILL_FILE, Version, VersionRange, is_name, is_version, newest_version, resource_path
from metier.values import dataclass

from .access import Caller, PackageAccess
from .admission import AGENT_FILE
from .protocols import BlobStore, RegistryStore
from .records import Millis, Package, PackageFilters, PackageKind, Release, ReleaseState, Signature, Sort, iso
from .search import parse_query, rank

__all__ = ["ListPage", "ListQuery", "Queries"]

_log = logging.getLogger("metier.registry")
MAX_RESULTS = 200
_MIN_RESULTS = 3
MAX_PAGE = 100
_DAY_MS = 86_400_000
_ANY = PackageFilters()
_MOST_LARGE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """The parameters of a list."""

    query: str = ""
    filters: PackageFilters = _ANY
    sort: Sort | None = None
    """None means relevance for a query, else last update."""
    cursor: str = ""
    limit: int = 20


@dataclass(frozen=True, slots=True)
class ListPage:
    packages: list[Package]
    next: str | None = None
    corrected: dict[str, str] | None = None


class Queries:
    def __init__(self, store: RegistryStore, blobs: BlobStore, clock: Callable[[], Millis]) -> None:
        self._store = store
        self._access = PackageAccess(store)
        self._blobs = blobs
        self._clock = clock
        self._large = asyncio.Semaphore(_MOST_LARGE)

    async def find_package(self, caller: Caller, kind: PackageKind, name: str) -> Package:
        return await self._access.readable(caller, kind, name)

    async def release(self, caller: Caller, kind: PackageKind, name: str, version: str = "") -> tuple[Package, Release]:
        """Finds a release by version, tag or range. One that is yanked or in its cool-down only by its exact version."""
        package = await self.find_package(caller, kind, name)
        wanted = version or "latest"
        is_exact = is_version(wanted)
        if wanted != "latest" and not is_exact:
            wanted = (await self._store.tags(package.id)).get(wanted) or await self._best_version(package, wanted)
        if wanted == "latest":
            wanted = package.version
        release = await self._store.release(package.id, wanted) if wanted else None
        if release is None:
            raise await self._no_release(package, version)
        if not is_exact and release.available > self._clock():
            raise NotFoundError(
                f"{name} {release.version} is in its cool-down until {iso(release.available)}",
                hint=f"name the version, as in {name}@{release.version}, to have it now",
            )
        return package, release

    async def quarantined(self, caller: Caller, kind: PackageKind, name: str, version: str) -> tuple[Package, Release] | None:
        """Returns a version that was online and is quarantined, for the page that says why. Its files are not for readers."""
        package = await self.find_package(caller, kind, name)
        held = await self._store.any_release(package.id, version) if is_version(version) else None
        shown = held is not None and held.state == ReleaseState.QUARANTINED and held.online is not None
        return (package, held) if held and shown else None

    async def _no_release(self, package: Package, version: str) -> MetierError:
        held = await self._store.any_release(package.id, version) if is_version(version) else None
        if held and held.state == ReleaseState.QUARANTINED and held.online is not None:
            return RefusedError(
                f"{package.name} {version} is quarantined: {held.state_reason or 'it is under review'}", rule="quarantined",
                hint="wait for the review, or ask the administrator",
            )  # fmt: skip
        return NotFoundError(
            f"{package.name} has no version {version[:80]!r}" if version else f"every version of {package.name} is yanked",
            hint=f"see the versions of {package.name}",
        )

    async def _best_version(self, package: Package, text: str) -> str:
        try:
            wanted = VersionRange.parse(text)
        except UsageError:
            return ""
        usable = [each for each in await self._store.releases(package.id) if each.yanked is None]
        ripe = [each for each in usable if each.available <= self._clock()]
        # One in its cool-down is found last, so that the error names it.
        found = [newest_version([v for v in map(_version_of, rows) if v in wanted]) for rows in (ripe, usable)]
        return str(found[0] or found[1] or "")

    async def releases(self, caller: Caller, kind: PackageKind, name: str) -> tuple[Package, list[Release], dict[str, str]]:
        """Returns all releases, newest first, and the tags of those whose cool-down is over."""
        package = await self.find_package(caller, kind, name)
        releases, now = await self._store.releases(package.id), self._clock()
        fresh = {each.version for each in releases if each.available > now}
        tags = {tag: version for tag, version in (await self._store.tags(package.id)).items() if version not in fresh}
        if package.latest:
            tags = {"latest": package.latest, **tags}
        return package, releases, tags

    async def signatures(self, package: Package) -> list[Signature]:
        return await self._store.signatures(package.id)

    async def owners(self, package: Package) -> tuple[str, ...]:
        return await self._store.owners(package.id)

    async def archive(self, name: str) -> bytes:
        """Returns the archive of a release. Raises UnavailableError if it is missing or damaged."""
        with _report_loss():
            return await self._blobs.get(name)

    async def archive_chunks(self, name: str) -> AsyncIterator[bytes]:
        """Yields the archive of a release in pieces; a damaged one is never complete."""
        with _report_loss():
            async for piece in self._blobs.chunks(name):
                yield piece

    async def link(self, archive: str, *, filename: str) -> str | None:
        return await self._blobs.link(archive, filename=filename, seconds=300)

    async def file(self, caller: Caller, kind: PackageKind, name: str, path: str, version: str = "") -> tuple[Release, bytes]:
        _, release = await self.release(caller, kind, name, version)
        return release, await self.release_file(release, path)

    async def release_file(self, release: Release, path: str) -> bytes:
        """Returns one file of a release."""
        wanted = resource_path(path)
        try:
            # A large archive is read whole, so only a few at a time.
            async with self._large if release.size > LARGEST_CACHED else contextlib.nullcontext():
                return await asyncio.to_thread(_read_member, await self.archive(release.archive), wanted)
        except KeyError:
            raise NotFoundError(f"version {release.version} has no file {wanted!r}", hint="see its list of files") from None

    async def text(self, kind: PackageKind, release: Release) -> str:
        """Returns the text of SKILL.md, or of agent.toml for an agent."""
        data = await self.release_file(release, SKILL_FILE if kind is PackageKind.SKILL else AGENT_FILE)
        return data.decode("utf-8", "replace")

    async def find(self, caller: Caller, query: ListQuery) -> ListPage:
        filters = _restrict(caller, query.filters)
        limit = max(1, min(query.limit, MAX_PAGE))
        sort = query.sort or (Sort.RELEVANCE if query.query.strip() else Sort.UPDATED)
        if query.query.strip():
            return await self._search(query.query, filters, sort, _offset(query.cursor), limit)
        if sort is Sort.RELEVANCE:
            sort = Sort.UPDATED
        packages = await self._store.browse(filters, sort=sort, after=_position(query.cursor, sort), limit=limit + 1)
        more = len(packages) > limit
        return ListPage(
            packages[:limit], _cursor([_sort_value(packages[limit - 1], sort), packages[limit - 1].name]) if more else None
        )

    async def _search(self, text: str, filters: PackageFilters, sort: Sort, offset: int, limit: int) -> ListPage:
        query = parse_query(text)
        if not query.groups:
            return ListPage([])
        need = offset + limit + 1
        spellings = await self._store.spellings(query.words, filters)
        # The last word may be incomplete, so it is corrected only if nothing starts with it.
        unfinished = spellings.pop(query.prefix, None)
        query = query.corrected(spellings)
        packages = await self._store.recall(query.groups, filters, name=query.slug, prefix=query.prefix, need=need)
        if unfinished and len(packages) < _MIN_RESULTS:
            spellings[query.prefix] = unfinished
            query = query.corrected(spellings)
            packages = await self._store.recall(query.groups, filters, name=query.slug, prefix=query.prefix, need=need)
        corrected = {word: near[0] for word, near in spellings.items() if near}
        ordered = rank(query, packages)
        if sort is not Sort.RELEVANCE:
            ordered.sort(key=lambda package: package.name)
            ordered.sort(key=lambda package: _sort_value(package, sort), reverse=sort is not Sort.NAME)
        page = ordered[offset : offset + limit]
        more = offset + limit < len(ordered)
        return ListPage(page, _cursor(offset + limit) if more else None, corrected)

    async def index(self, caller: Caller, *, namespace: str = "", limit: int = 2_000) -> list[Package]:
        """Returns the skills of the well-known index: those of a namespace, or all that the caller may read."""
        filters = _restrict(caller, PackageFilters(kind=PackageKind.SKILL, owner=namespace))
        found = await self._store.browse(filters, sort=Sort.NAME, after=None, limit=limit)
        # Its clients take what it lists, so it lists nothing in its cool-down.
        return [package for package in found if package.latest]

    async def days(self, package: Package, *, days: int) -> list[DownloadDay]:
        """Returns the downloads of each of the last days, including days without any."""
        today = datetime.fromtimestamp(self._clock() / 1000, UTC).date()
        every = [(today - timedelta(days=back)).isoformat() for back in reversed(range(days))]
        known = {row.day: row.downloads for row in await self._store.days(package.id, since=every[0])}
        return [DownloadDay(day=day, downloads=known.get(day, 0)) for day in every]

    async def trending(self, caller: Caller, *, days: int = 7, limit: int = 10) -> list[tuple[Package, int]]:
        since = datetime.fromtimestamp((self._clock() - days * _DAY_MS) / 1000, UTC).date().isoformat()
        return await self._store.trending(_restrict(caller, PackageFilters()), since=since, limit=limit)

    async def totals(self, caller: Caller) -> dict[str, int]:
        """Counts what the caller may read."""
        return await self._store.totals(readable_namespaces=caller.readable_namespaces)


def _version_of(release: Release) -> Version:
    return Version.parse(release.version)


def _restrict(caller: Caller, filters: PackageFilters) -> PackageFilters:
    return PackageFilters(
        kind=filters.kind, tag=filters.tag, owner=filters.owner, license=filters.license, verdict=filters.verdict,
        readable_namespaces=caller.readable_namespaces,
    )  # fmt: skip


def _read_member(data: bytes, path: str) -> bytes:
    # The registry packed this archive itself, so the standard library's reader is safe.
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(path)


def _sort_value(package: Package, sort: Sort) -> int | str:
    return package.downloads if sort is Sort.DOWNLOADS else package.updated if sort is Sort.UPDATED else package.name


def _cursor(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _read_cursor(text: str) -> object:
    try:
        return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError):
        raise _bad_cursor() from None


def _offset(text: str) -> int:
    value = _read_cursor(text) if text else 0
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_RESULTS:
        raise _bad_cursor()
    return value


def _position(text: str, sort: Sort) -> tuple[int | str, str] | None:
    if not text:
        return None
    match _read_cursor(text):
        case [int() | str() as value, str() as name] if is_name(name) and isinstance(value, str) == (sort is Sort.NAME):
            if isinstance(value, int) and not -(1 << 62) < value < 1 << 62:
                raise _bad_cursor()
            return value, name
        case _:
            raise _bad_cursor()


def _bad_cursor() -> UsageError:
    return UsageError("invalid cursor for this list", hint="start without a cursor, and keep the other parameters")


@contextlib.contextmanager
def _report_loss() -> Iterator[None]:
    """Logs that an archive is missing or damaged, which is the administrator's problem and not the reader's."""
    try:
        yield
    except (NotFoundError, UnavailableError) as error:
        _log.error("%s; %s", error, error.hint)
        if isinstance(error, UnavailableError):
            raise
        raise UnavailableError(str(error), hint=error.hint, retryable=False) from error
