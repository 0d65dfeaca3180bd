"""Background work of a server process: download counts every second, and queued jobs one at a time.

A worker claims a job for a limited time, so that another worker repeats it if the first one dies. Recurring jobs have one row
each; finishing one schedules its next run.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from datetime import UTC, datetime

from metier.errors import MetierError, NotFoundError, UnavailableError
from metier.registry.domain.advisories import with_known_bad
from metier.registry.domain.records import PackageKind
from metier.registry.domain.registry import Registry
from metier.registry.domain.rescans import record_rescan, rescan_archive
from metier.registry.wire import QueuedJob
from metier.spec import split_document

from .metrics import Metrics

__all__ = ["run_background_jobs", "run_due_jobs"]

_log = logging.getLogger("metier.registry")
_TICK_SECONDS = 1.0
_LEASE_MS = 5 * 60_000
_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
_MOST_ATTEMPTS = 5


async def run_background_jobs(registry: Registry, metrics: Metrics) -> None:
    """Runs until cancelled. Continues when the store is unavailable for a while."""
    if registry.provider is not None:
        await registry.provider.check()
    for kind in ("purge", "forget", "terms"):
        with contextlib.suppress(UnavailableError):
            await registry.store.enqueue(kind, "", due=registry.clock())
    while True:
        await asyncio.sleep(_TICK_SECONDS)
        try:
            await asyncio.to_thread(metrics.save)
            metrics.events["download"] += await registry.downloads.flush()
            await registry.tokens.flush_uses()
            metrics.events["job"] += await run_due_jobs(registry)
        except UnavailableError as error:
            metrics.events["unavailable"] += 1
            _log.warning("%s", error)
        except Exception:
            _log.exception("background job failed")


async def run_due_jobs(registry: Registry) -> int:
    done = 0
    while job := await registry.store.claim(now=registry.clock(), lease=_LEASE_MS):
        try:
            again = await _JOBS[job.kind](registry, job)
        except Exception as error:
            if isinstance(error, UnavailableError) and error.retryable:
                raise
            _log.exception("job %s %s failed", job.kind, job.subject)
            if job.attempts >= _MOST_ATTEMPTS and job.kind in ("index", "scan"):
                await registry.store.finish(job.id)
            else:
                retry = registry.clock() + 1000 * 2**job.attempts
                await registry.store.fail(job.id, error=f"{type(error).__name__}: {error}"[:500], retry=retry)
            continue
        await registry.store.finish(job.id, again=again)
        done += 1
    return done


async def _purge(registry: Registry, _job: QueuedJob) -> int:
    """Deletes packages that can no longer be undeleted. Their names and versions stay reserved."""
    before = registry.clock() - registry.options.reserved_days * _DAY_MS
    for name in await registry.store.purge(before=before, at=registry.clock()):
        _log.info("purged %s", name)
    return registry.clock() + _HOUR_MS


async def _forget(registry: Registry, _job: QueuedJob) -> int:
    """Deletes the identities of downloads before yesterday."""
    yesterday = datetime.fromtimestamp((registry.clock() - _DAY_MS) / 1000, UTC).date().isoformat()
    await registry.store.forget_identities(before=yesterday)
    return registry.clock() + _HOUR_MS


async def _index(registry: Registry, job: QueuedJob) -> None:
    """Indexes the body of the release that a package shows after a yank."""
    kind, _, name = job.subject.partition(":")
    package = await registry.store.find_package(kind, name)
    release = await registry.store.release(package.id, package.version) if package else None
    if package and release:
        body = split_document((await registry.queries.text(PackageKind(kind), release)).encode()).body
        await registry.store.index_body(package.id, release.version, body)


async def _spell(registry: Registry, _job: QueuedJob) -> None:
    """Writes the words of all packages again, once after the migration that separates them by package."""
    after: int | None = 0
    while after is not None:
        after = await registry.store.respell(after=after)


async def _terms(registry: Registry, _job: QueuedJob) -> int:
    """Counts which terms are common, so that a search for them reads only a part of their matches."""
    await registry.store.count_terms()
    return registry.clock() + _HOUR_MS


async def _cooldown(registry: Registry, job: QueuedJob) -> None:
    """Shows a version whose cool-down is over, and indexes it. The subject is `skill:name@version`."""
    kind, _, name = job.subject.rpartition("@")[0].partition(":")
    package = await registry.store.find_package(kind, name)
    if package:
        await registry.store.end_cooldown(package.id, at=registry.clock())
        await registry.store.enqueue("index", f"{kind}:{name}", due=registry.clock())


async def _scan(registry: Registry, job: QueuedJob) -> None:
    """Scans a release again with the current rules. The subject is `skill:name@version`."""
    if registry.scanner is None:
        return
    subject, _, version = job.subject.rpartition("@")
    kind, _, name = subject.partition(":")
    package = await registry.store.find_package(kind, name)
    release = await registry.store.release(package.id, version) if package else None
    if package is None or release is None:
        return
    with contextlib.suppress(NotFoundError, MetierError):
        data = await registry.blobs.get(release.archive)
        seconds = registry.options.work.check_seconds
        result = await registry.workers.checks.run(rescan_archive, registry.scanner, data, name, seconds=seconds)
        owners = await registry.store.owners(package.id)
        result = with_known_bad(result, await registry.advisories.active(), package, release, owners)
        await record_rescan(registry.store, package, release, result, at=registry.clock())


async def _advisory(registry: Registry, job: QueuedJob) -> None:
    """Quarantines the releases whose files an advisory names. The subject is its id."""
    held = await registry.advisories.search_archives(job.subject)
    if held:
        _log.info("advisory %s quarantined %s", job.subject, ", ".join(held))


_JOBS = {
    "purge": _purge,
    "forget": _forget,
    "index": _index,
    "scan": _scan,
    "spell": _spell,
    "cooldown": _cooldown,
    "terms": _terms,
    "advisory": _advisory,
}
