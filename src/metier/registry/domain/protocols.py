"""The protocols of the registry's stores: rows and archives.

Both are asynchronous, because both may be remote. A store that cannot be reached, is full or is read-only raises
`UnavailableError`. `metier.testing` has a conformance suite for each.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Sequence
from typing import Protocol

from metier.registry.wire import AbuseReport, DownloadDay, QueuedJob
from metier.values import dataclass

from .records import (
    AuditEvent,
    DeviceLogin,
    Invitation,
    Millis,
    Package,
    PackageFilters,
    RegistryToken,
    RegistryUser,
    Release,
    ReleaseDraft,
    Signature,
    SigningKey,
    Sort,
    TrustedPublisher,
)

__all__ = [
    "AccountStore",
    "AdvisoryStore",
    "BlobStore",
    "DeviceLoginStore",
    "DownloadStore",
    "Effect",
    "InvitationStore",
    "JobStore",
    "ModerationStore",
    "PackageStore",
    "PageSessionStore",
    "RegistryStore",
    "ReviewStore",
    "SearchStore",
    "TrustedPublisherStore",
    "UploadStore",
    "UserStore",
    "nothing",
]


Effect = Callable[[], Awaitable[None]]


async def nothing() -> None:
    """The default effect."""


class PackageStore(Protocol):
    """Skills and agents, and their releases."""

    async def find_package(self, kind: str, name: str) -> Package | None:
        """Returns deleted packages too; the caller checks the status."""

    async def release(self, package_id: int, version: str) -> Release | None:
        """Returns a release that is online, yanked or not."""

    async def releases(self, package_id: int) -> list[Release]:
        """Returns all releases that are online including yanked ones, newest first."""

    async def owners(self, package_id: int) -> tuple[str, ...]:
        """Returns the owners, the first owner first."""

    async def tags(self, package_id: int) -> dict[str, str]:
        """Returns the tags of versions that are online, such as beta."""

    async def signatures(self, package_id: int) -> list[Signature]: ...

    async def publish(
        self, draft: ReleaseDraft, owners_of: Sequence[str] | None, *, keep_archive: Effect = nothing
    ) -> tuple[Package, Release, bool]:
        """Writes all rows of a release in one transaction. Returns False if the same release exists already.

        `keep_archive` is called in that transaction, where `delete_archive` cannot run: it writes the archive again if that
        was deleted meanwhile. `owners_of` are the namespaces that the publisher acts for; None means any. Raises RefusedError
        if none of them owns the name, and ConflictError if the version has other contents or the name is reserved. A draft
        with another visibility changes the package's, also if the release exists already.
        """

    async def try_publish(self, draft: ReleaseDraft, owners_of: Sequence[str] | None) -> tuple[Package, Release, bool]:
        """Returns what `publish` would return, or raises what it would raise, and changes nothing."""

    async def delete_archive(self, archive: str, delete: Effect) -> bool:
        """Calls `delete` if no release names the archive, while no publish can commit. Returns whether it did."""


class ReviewStore(Protocol):
    """Releases that are not online. All other methods see none of them."""

    async def any_release(self, package_id: int, version: str) -> Release | None:
        """Returns a release in any state."""

    async def waiting(
        self, states: Sequence[str], namespaces: Sequence[str] | None, *, before: int | None = None, limit: int = 100
    ) -> list[tuple[Package, Release]]:
        """Returns releases in these states of packages that these namespaces own, newest first; None means all."""

    async def set_state(self, release: Release, state: str, *, reason: str, event: AuditEvent, cooldown: Millis = 0) -> bool:
        """Returns False if the release has changed since it was read. A first time online starts the cool-down."""

    async def remove_release(self, release: Release, *, event: AuditEvent) -> bool:
        """Deletes one release. A version that was online never comes back with other contents.

        Returns False if the release has changed since it was read.
        """

    async def expired(self, *, drafts_before: Millis, yanked_before: Millis) -> list[tuple[Package, Release]]:
        """Returns drafts that were uploaded before a time, and prereleases that were yanked before one."""

    async def release_page(self, *, after: int, limit: int) -> list[tuple[Package, Release]]:
        """Returns releases in every state, with ids above `after`, in their order."""

    async def end_cooldown(self, package_id: int, *, at: Millis) -> None:
        """Shows and indexes the newest version whose cool-down is over."""

    async def demands_review(self, namespaces: Sequence[str]) -> bool:
        """Returns whether one of these namespaces asks for reviews."""

    async def set_demands_review(self, namespace: str, *, demanded: bool, event: AuditEvent) -> bool:
        """Returns False if unchanged."""


class SearchStore(Protocol):
    async def browse(
        self, filters: PackageFilters, *, sort: Sort, after: tuple[int | str, str] | None, limit: int
    ) -> list[Package]:
        """Returns the packages that match, sorted; `after` is the sort key and name of the last one on the previous page."""

    async def recall(
        self, groups: Sequence[Sequence[str]], filters: PackageFilters, *, name: str = "", prefix: str = "", need: int = 20,
        limit: int = 200,
    ) -> list[Package]:  # fmt: skip
        """Returns the package of that name and candidates with a term of every group, then of fewer groups until there are
        `need` of them. All engines return the same ones."""

    async def count_terms(self) -> int:
        """Counts again which terms are common. Returns their number."""

    async def spellings(self, words: Iterable[str], filters: PackageFilters) -> dict[str, list[str]]:
        """Returns, for each word that occurs nowhere, the words of visible packages that are one edit away."""

    async def respell(self, *, after: int) -> int | None:
        """Writes the words of the next packages after this id again. Returns the last id, or None at the end."""

    async def popular(self, kind: str, *, at_least: int, limit: int) -> list[str]:
        """Returns public names with at least that many downloads, the most downloaded first."""


class ModerationStore(Protocol):
    """Changes by owners and moderators. Each writes an audit log entry in the same transaction."""

    async def yank(self, package_id: int, version: str, *, reason: str | None, event: AuditEvent) -> bool:
        """Yanks with a reason, or undoes a yank with None. Returns False if unchanged."""

    async def set_status(self, package_id: int, status: str, *, reason: str, event: AuditEvent) -> None:
        """Sets the status. A quarantined package stays so, and gets this status when its quarantine ends."""

    async def quarantine(self, package_id: int, *, reason: str, event: AuditEvent) -> None:
        """Quarantines a package, also a deleted one. It is not purged until its quarantine ends."""

    async def end_quarantine(self, package_id: int, *, event: AuditEvent) -> bool:
        """Gives the package its status back. Returns False if it is not quarantined."""

    async def set_visibility(self, package_id: int, visibility: str, *, event: AuditEvent) -> None: ...

    async def set_tag(self, package_id: int, tag: str, version: str | None, *, event: AuditEvent) -> None: ...

    async def set_owner(self, package_id: int, namespace: str, *, present: bool, event: AuditEvent) -> None:
        """Raises ConflictError if no owner would be left."""

    async def offer(self, package_id: int, namespace: str, *, event: AuditEvent) -> None: ...

    async def offered_to(self, package_id: int) -> str | None: ...

    async def transfer(self, package_id: int, namespace: str, *, event: AuditEvent) -> None:
        """Accepts an offer: the namespace becomes the only owner."""

    async def report(self, report: AbuseReport, package_id: int, *, event: AuditEvent, most: int | None = None) -> int | None:
        """Adds a report, once for each reporter, version and reason; the address is the reporter if there is no token.

        Returns its number, or None if the reporter has `most` open reports.
        """

    async def reports(
        self, *, state: str = "open", before: int | None = None, limit: int = 50, anonymous: bool | None = None
    ) -> list[AbuseReport]:
        """Returns reports, newest first; `anonymous` selects those without or with a token."""

    async def find_report(self, report: int) -> AbuseReport | None: ...

    async def resolve(self, report: int, *, state: str, note: str, event: AuditEvent) -> bool: ...

    async def set_scan(self, release: int, *, verdict: str, findings: str, event: AuditEvent) -> None:
        """Stores the result of a later scan."""

    async def sign(self, release: int, signature: Signature, *, event: AuditEvent) -> None: ...

    async def index_body(self, package_id: int, version: str, body: str) -> None:
        """Indexes the words of a body, if its release is still current."""

    async def purge(self, *, before: Millis, at: Millis) -> list[str]:
        """Deletes packages that were marked deleted before that time. Returns their names. `at` dates the audit log entries.

        Their versions never come back with other contents, and their names only for their last owners or an administrator.
        """


class AccountStore(Protocol):
    async def token(self, hashed: str) -> RegistryToken | None:
        """Returns the token with this hash, also if it is revoked or expired."""

    async def tokens(self, holder: str | None = None) -> list[RegistryToken]: ...

    async def add_token(
        self, token: RegistryToken, hashed: str, *, event: AuditEvent, first: bool = False
    ) -> RegistryToken | None:
        """Adds a token; with `first` only if there is none yet."""

    async def revoke_token(self, token: int, *, event: AuditEvent) -> int:
        """Revokes a token and all tokens created with it. Returns the number of revoked tokens."""

    async def mark_used(self, uses: Sequence[tuple[int, Millis]]) -> None:
        """Stores the last use of tokens. It may be lost in a power failure."""

    async def keys(self, namespace: str) -> list[SigningKey]: ...

    async def add_key(self, key: SigningKey, *, event: AuditEvent) -> SigningKey: ...

    async def revoke_key(self, namespace: str, keyid: str, *, event: AuditEvent) -> bool: ...

    async def events(
        self, *, subject: str = "", before: int | None = None, limit: int = 50
    ) -> list[tuple[int, AuditEvent]]: ...

    async def add_event(self, event: AuditEvent) -> None:
        """Adds one audit log entry."""

    async def setting(self, key: str, default: str) -> str:
        """Returns a setting; stores the default if there is none."""


class UserStore(Protocol):
    async def user(self, issuer: str, subject: str) -> RegistryUser | None: ...

    async def users(self, *, after: str = "", limit: int = 100) -> list[RegistryUser]:
        """Returns users by name."""

    async def find_user(self, name: str) -> RegistryUser | None: ...

    async def add_user(self, user: RegistryUser, *, event: AuditEvent) -> RegistryUser | None:
        """Returns None if the person is a user already, or the name is a user, the holder of a token or a namespace."""

    async def update_user(self, user: RegistryUser, *, revoked: Sequence[int], event: AuditEvent) -> None:
        """Stores email, scopes and the time of a sign-in, revokes these tokens, and deletes sign-ins that are over."""

    async def set_user_disabled(self, user: int, *, disabled: bool, event: AuditEvent) -> int | None:
        """Disabling revokes all tokens of the user. Returns their number, or None if nothing changed."""

    async def user_tokens(self, user: int) -> list[RegistryToken]:
        """Returns the tokens of a user that are not revoked."""


class DeviceLoginStore(Protocol):
    """Logins of devices, by the hash of their device code. They end by themselves when they expire."""

    async def add_device_login(self, hashed: str, user_code: str, *, address: str, now: Millis, expires: Millis) -> bool:
        """Returns False if another device has the user code."""

    async def device_login(self, user_code: str, *, now: Millis) -> DeviceLogin | None: ...

    async def poll_device_login(self, hashed: str, *, now: Millis) -> DeviceLogin | None:
        """Stores the time of a request by the device, and returns the login with the time of the one before."""

    async def decide_device_login(
        self, user_code: str, *, approver: int | None, scopes: tuple[str, ...], event: AuditEvent
    ) -> bool:
        """Approves a login with the approver's token, or denies it without one; only the first decision counts."""

    async def end_device_login(self, hashed: str) -> bool:
        """Returns True to one caller only."""


class InvitationStore(Protocol):
    """Invitations by the hash of their text."""

    async def add_invitation(self, hashed: str, invitation: Invitation, *, creator: int | None, event: AuditEvent) -> None: ...

    async def invitation(self, hashed: str, *, now: Millis) -> Invitation | None:
        """Returns an invitation that has not expired, and whose creator's token is not revoked."""

    async def end_invitation(self, hashed: str) -> bool: ...

    async def invitations(self, *, now: Millis) -> list[Invitation]:
        """Returns the invitations that can be accepted, the first to expire first."""

    async def withdraw_invitation(self, invitation: str, *, event: AuditEvent) -> bool:
        """Deletes an invitation by its id. Returns False if there is none."""


class TrustedPublisherStore(Protocol):
    """The jobs that may publish."""

    async def add_trusted_publisher(self, publisher: TrustedPublisher, *, event: AuditEvent) -> TrustedPublisher: ...

    async def trusted_publishers(self, namespace: str) -> list[TrustedPublisher]: ...

    async def publishers_of(self, issuer: str, repository: str) -> list[TrustedPublisher]: ...

    async def remove_trusted_publisher(self, namespace: str, publisher: int, *, event: AuditEvent) -> bool:
        """Revokes the tokens of its jobs too. Returns False if there is none."""

    async def add_job_token(
        self, token: RegistryToken, hashed: str, *, project_id: str, job_token: str, job_expires: Millis, event: AuditEvent
    ) -> RegistryToken | None:
        """Returns None if `job_token`, a hash, was used before.

        Raises ConflictError if the trusted publisher was removed, or if its first job was of another project.
        """


class PageSessionStore(Protocol):
    """Sessions of the pages, by the hash of their text."""

    async def session(self, hashed: str, *, now: Millis) -> RegistryToken | None:
        """Returns the token of a session that has not expired."""

    async def add_session(self, hashed: str, token: int, *, expires: Millis, event: AuditEvent) -> None: ...

    async def end_session(self, hashed: str, *, event: AuditEvent) -> bool: ...


class UploadStore(Protocol):
    """Tickets for single files of a release, by the hash of their text. A ticket belongs to one token."""

    async def add_upload(self, hashed: str, token: int, *, digest: str, now: Millis, expires: Millis, most: int) -> bool:
        """Returns False if the token has `most` unused tickets."""

    async def upload(self, hashed: str, token: int, *, now: Millis) -> str | None:
        """Returns the digest of an unused ticket."""

    async def finish_upload(self, hashed: str) -> None: ...

    async def stored_uploads(self, hashed: Sequence[str], token: int, *, now: Millis) -> dict[str, str]:
        """Returns the digests of those tickets whose files were uploaded."""

    async def delete_uploads(self, hashed: Sequence[str]) -> None: ...


class DownloadStore(Protocol):
    async def count(self, day: str, seen: Iterable[tuple[int, str, str]]) -> int:
        """Counts downloads given as (package, version, identity). An identity counts once per package and day."""

    async def days(self, package_id: int, *, since: str) -> list[DownloadDay]: ...

    async def trending(self, filters: PackageFilters, *, since: str, limit: int) -> list[tuple[Package, int]]: ...

    async def totals(self, *, readable_namespaces: tuple[str, ...] | None = None) -> dict[str, int]:
        """Counts the packages that are public or owned by these namespaces; None means all."""

    async def forget_identities(self, *, before: str) -> None: ...


class AdvisoryStore(Protocol):
    """Advisories, as JSON by their id. Each change makes the number of their list grow."""

    async def advisories_number(self) -> int: ...

    async def advisories(self) -> tuple[int, list[str]]:
        """Returns the number of the list, and the advisories that are not withdrawn in the order of their addition."""

    async def add_advisory(self, advisory: str, contents: str, *, event: AuditEvent) -> bool:
        """Returns False if the id was used before, also by one that is withdrawn."""

    async def withdraw_advisory(self, advisory: str, *, event: AuditEvent) -> bool:
        """Returns False if there is none."""

    async def advisory_key(self) -> str:
        """Returns the public key that signs the list; empty if there is none yet."""

    async def set_advisory_key(self, public: str, *, event: AuditEvent) -> None: ...


class JobStore(Protocol):
    async def enqueue(self, kind: str, subject: str, *, due: Millis) -> None:
        """Adds a job, once for each kind and subject. An existing job becomes due at the earlier time."""

    async def claim(self, *, now: Millis, lease: int) -> QueuedJob | None:
        """Claims a due job for `lease` milliseconds."""

    async def finish(self, job: int, *, again: Millis | None = None) -> None: ...

    async def fail(self, job: int, *, error: str, retry: Millis) -> None: ...


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a store since an earlier look."""

    generation: Hashable
    """What `RegistryStore.generation` returned at the time, or would have."""
    mark: Hashable
    packages: frozenset[tuple[str, str]] | None
    """Kinds and names of the packages that changed; None for all."""


class RegistryStore(
    PackageStore, SearchStore, ModerationStore, AccountStore, UserStore, DeviceLoginStore, InvitationStore,
    TrustedPublisherStore, PageSessionStore, UploadStore, ReviewStore, DownloadStore, JobStore,
    AdvisoryStore, Protocol
):  # fmt: skip
    async def ping(self) -> None:
        """Raises UnavailableError if the store cannot be reached."""

    async def generation(self) -> Hashable:
        """Two equal values mean that nothing was committed between the two calls, by any process."""

    async def changes(self, mark: Hashable) -> Changes:
        """Returns what was committed after an earlier call that returned this mark, by any process; None for the first."""

    async def archives(self) -> AsyncIterator[str]:
        """Yields the blob name of every release."""
        yield ""

    async def close(self) -> None: ...


class BlobStore(Protocol):
    """Archives by the hex of their SHA-256. They never change, so writing one again has no effect."""

    async def put(self, name: str, data: bytes) -> None:
        """Stores the bytes durably. Raises ValueError if they do not match the name."""

    async def get(self, name: str) -> bytes:
        """Raises NotFoundError if there is none, and UnavailableError if the bytes do not match the name."""

    def chunks(self, name: str) -> AsyncIterator[bytes]:
        """Yields the blob in pieces; the errors are those of `get`, and come before the last piece."""

    async def has(self, name: str) -> bool: ...

    async def delete(self, name: str) -> None: ...

    async def names(self) -> AsyncIterator[tuple[str, Millis, int]]:
        """Yields every blob with the time of its last write and its size, without reading it."""
        yield "", 0, 0

    async def link(self, name: str, *, filename: str, seconds: int) -> str | None:
        """Returns a temporary public address of the blob, if the store supports that."""

    async def ping(self) -> None: ...

    async def clock(self) -> Millis:
        """Returns the time that the store gives to a blob written now."""

    async def close(self) -> None: ...
