"""What the registry asks of whoever keeps its rows and its bytes.

Both are asynchronous, for both may be at the other end of a network. Whatever cannot be reached, is full or is read-only
raises `Unavailable`; nobody above knows which engine there is. `metier.testing` has the suite for each.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Protocol

from metier.registry.wire import AbuseReport, DownloadDay, QueuedJob

from .records import (
    AuditEvent,
    Millis,
    Package,
    PackageFilters,
    RegistryToken,
    Release,
    ReleaseDraft,
    Signature,
    SigningKey,
    Sort,
)

__all__ = [
    "AccountStore",
    "BlobStore",
    "DownloadStore",
    "JobStore",
    "ModerationStore",
    "PackageStore",
    "RegistryStore",
    "SearchStore",
]


class PackageStore(Protocol):
    """Skills and agents, and their releases."""

    async def find_package(self, kind: str, name: str) -> Package | None:
        """Deleted ones too: whoever asks decides what that means."""

    async def release(self, package_id: int, version: str) -> Release | None: ...

    async def releases(self, package_id: int) -> list[Release]:
        """All of them, yanked ones too, the newest first."""

    async def owners(self, package_id: int) -> tuple[str, ...]:
        """The first owner first."""

    async def tags(self, package_id: int) -> dict[str, str]:
        """Names that an owner has given to versions, such as beta."""

    async def signatures(self, package_id: int) -> list[Signature]: ...

    async def publish(self, draft: ReleaseDraft, owners_of: Sequence[str] | None) -> tuple[Package, Release, bool]:
        """All rows of a release in one transaction, search index and audit log included; False if it was there already.

        `owners_of` are the namespaces that the publisher acts for (None is any). Refused if the name belongs to none of
        them, Conflict if the version is taken by other contents or the name is reserved.
        """


class SearchStore(Protocol):
    async def browse(
        self, filters: PackageFilters, *, sort: Sort, after: tuple[int | str, str] | None, limit: int
    ) -> list[Package]:
        """What the filters leave, in order; `after` is the sort key and name of the last one seen."""

    async def recall(
        self, groups: Sequence[Sequence[str]], filters: PackageFilters, *, prefix: str = "", need: int = 20, limit: int = 200
    ) -> list[Package]:
        """Candidates for one search: those in which a term of every group occurs; with fewer groups until there are `need`."""

    async def spellings(self, words: Iterable[str]) -> dict[str, list[str]]:
        """For each word that occurs nowhere, the words of the index that are one slip away."""

    async def popular(self, kind: str, *, at_least: int, limit: int) -> list[str]:
        """Names with that many downloads, the most downloaded first."""


class ModerationStore(Protocol):
    """What owners and moderators do. Each leaves a line in the audit log, in the same transaction."""

    async def yank(self, package_id: int, version: str, *, reason: str | None, event: AuditEvent) -> bool:
        """Yank with a reason, or take it back with None. False if it was so already."""

    async def set_status(self, package_id: int, status: str, *, reason: str, event: AuditEvent) -> None: ...

    async def set_visibility(self, package_id: int, visibility: str, *, event: AuditEvent) -> None: ...

    async def set_tag(self, package_id: int, tag: str, version: str | None, *, event: AuditEvent) -> None: ...

    async def set_owner(self, package_id: int, namespace: str, *, present: bool, event: AuditEvent) -> None:
        """Conflict if it would leave nobody."""

    async def offer(self, package_id: int, namespace: str, *, event: AuditEvent) -> None: ...

    async def offered(self, package_id: int) -> str | None: ...

    async def transfer(self, package_id: int, namespace: str, *, event: AuditEvent) -> None:
        """Accept what was offered: from now on it belongs to that namespace alone."""

    async def report(self, report: AbuseReport, package_id: int, *, event: AuditEvent) -> int: ...

    async def reports(self, *, state: str = "open", before: int | None = None, limit: int = 50) -> list[AbuseReport]: ...

    async def resolve(self, report: int, *, state: str, note: str, event: AuditEvent) -> bool: ...

    async def set_scan(self, release: int, *, verdict: str, findings: str, event: AuditEvent) -> None:
        """What a later scan said."""

    async def sign(self, release: int, signature: Signature, *, event: AuditEvent) -> None: ...

    async def index(self, package_id: int, version: str, body: str) -> None:
        """The words of a body, if its release is still the one that is shown."""

    async def purge(self, *, before: Millis) -> list[str]:
        """Forget what was deleted before then, and free its names."""


class AccountStore(Protocol):
    async def token(self, hashed: str) -> RegistryToken | None:
        """By the hash of its text; revoked and expired ones too."""

    async def tokens(self, holder: str | None = None) -> list[RegistryToken]: ...

    async def add_token(
        self, token: RegistryToken, hashed: str, *, event: AuditEvent, first: bool = False
    ) -> RegistryToken | None:
        """With `first`, only if there is no token yet."""

    async def revoke_token(self, token: int, *, event: AuditEvent) -> bool: ...

    async def keys(self, namespace: str) -> list[SigningKey]: ...

    async def add_key(self, key: SigningKey, *, event: AuditEvent) -> SigningKey: ...

    async def revoke_key(self, namespace: str, keyid: str, *, event: AuditEvent) -> bool: ...

    async def events(
        self, *, subject: str = "", before: int | None = None, limit: int = 50
    ) -> list[tuple[int, AuditEvent]]: ...

    async def note(self, event: AuditEvent) -> None:
        """One line in the audit log by itself."""

    async def setting(self, key: str, default: str) -> str:
        """What is kept under this key; the default is kept if there is nothing yet."""


class DownloadStore(Protocol):
    async def count(self, day: str, seen: Iterable[tuple[int, str, str]]) -> int:
        """Downloads as (package, version, identity); one of a package by an identity on a day counts once."""

    async def days(self, package_id: int, *, since: str) -> list[DownloadDay]: ...

    async def trending(self, filters: PackageFilters, *, since: str, limit: int) -> list[tuple[Package, int]]: ...

    async def totals(self) -> dict[str, int]: ...

    async def forget_identities(self, *, before: str) -> None: ...


class JobStore(Protocol):
    async def enqueue(self, kind: str, subject: str, *, due: Millis) -> None:
        """Once for each kind and subject; a job that is there already becomes due at the earlier time."""

    async def claim(self, *, now: Millis, lease: int) -> QueuedJob | None:
        """One that is due, for so many milliseconds; nobody else gets it meanwhile."""

    async def finish(self, job: int, *, again: Millis | None = None) -> None: ...

    async def fail(self, job: int, *, error: str, retry: Millis) -> None: ...


class RegistryStore(PackageStore, SearchStore, ModerationStore, AccountStore, DownloadStore, JobStore, Protocol):
    async def ping(self) -> None:
        """Unavailable if it is."""

    async def archives(self) -> AsyncIterator[str]:
        """The name of every blob that a row names."""
        yield ""

    async def close(self) -> None: ...


class BlobStore(Protocol):
    """Bytes by the hex of their SHA-256. What is there never changes, so writing it again changes nothing."""

    async def put(self, name: str, data: bytes) -> None:
        """Durable when it returns. ValueError if the bytes are not what the name says."""

    async def get(self, name: str) -> bytes:
        """NotFound if there is none; Unavailable if what is there is not what the name says."""

    async def has(self, name: str) -> bool: ...

    async def delete(self, name: str) -> None: ...

    async def names(self) -> AsyncIterator[tuple[str, Millis]]:
        """Every blob, with the time it was last written."""
        yield "", 0

    async def link(self, name: str, *, filename: str, seconds: int) -> str | None:
        """An address that anybody may fetch it from for a while, if this store has such."""

    async def ping(self) -> None: ...

    async def close(self) -> None: ...
