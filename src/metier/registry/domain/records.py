"""The records that a registry stores. Times are milliseconds since 1970, in UTC.

They are msgspec structs, not dataclasses, because one is created for every row that is read: 0.3 µs each instead of 3.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum

from msgspec import Struct

__all__ = [
    "AuditEvent",
    "DeviceLogin",
    "Invitation",
    "Millis",
    "Package",
    "PackageFilters",
    "PackageKind",
    "PackageStatus",
    "PackageVisibility",
    "RegistryToken",
    "RegistryUser",
    "Release",
    "ReleaseDraft",
    "ReleaseState",
    "ScanStatus",
    "Signature",
    "SigningKey",
    "Sort",
    "TrustedPublisher",
    "iso",
]

SIGN_IN_PREFIX = "sso_"
"""The prefix of tokens that stand for a sign-in."""
Millis = int
"""Milliseconds since 1970."""


class PackageKind(StrEnum):
    SKILL = "skill"
    AGENT = "agent"


class PackageVisibility(StrEnum):
    PRIVATE = "private"
    """Visible only with a token that may read it."""
    PUBLIC = "public"


class PackageStatus(StrEnum):
    """The statuses of PEP 792, and `deleted`: hidden, and purged after a while. Its name stays reserved."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    DEPRECATED = "deprecated"
    QUARANTINED = "quarantined"
    DELETED = "deleted"


class ReleaseState(StrEnum):
    """A release is served, listed and chosen only while it is online. A yanked one is online."""

    DRAFT = "draft"
    """An upload that its publisher has not submitted, or that a reviewer has returned."""
    REVIEW = "review"
    """Waits for a reviewer."""
    ONLINE = "online"
    QUARANTINED = "quarantined"
    """Kept, but not served until an administrator decides."""


class ScanStatus(StrEnum):
    """The verdict of the security scan of a release."""

    UNKNOWN = "unknown"
    PASS = "pass"  # noqa: S105  (a verdict, not a password)
    REVIEW = "review"
    BLOCK = "block"


class Sort(StrEnum):
    RELEVANCE = "relevance"
    DOWNLOADS = "downloads"
    UPDATED = "updated"
    NAME = "name"


class Package(Struct, frozen=True, gc=False):
    """A skill or an agent. Its row repeats the main fields of its current release."""

    id: int
    kind: str
    name: str
    namespace: str
    """The first owner. Callers that may read this namespace may read the package if it is private."""
    visibility: str
    status: str
    reason: str
    """The reason of the status."""
    created: Millis
    updated: Millis
    removed: Millis | None
    downloads: int
    version: str
    """The current version; empty if every release is yanked."""
    description: str
    author: str
    license: str
    tags: str
    """Separated by spaces."""
    verdict: str
    digest: str
    """Digest of the contents (`metier.archive.digest`)."""
    archive: str
    """Hex SHA-256 of the zip, which is the name of its blob."""
    size: int
    signed: str
    """The signer of the current release; empty if it is not signed."""
    hidden: int = 0
    """1 until one of its releases has been online. Only its members know of it."""
    fresh: str = ""
    """The newest version, if it is in its cool-down. It is the current version only if there is no older one."""
    available: Millis = 0
    """The end of that cool-down."""

    @property
    def latest(self) -> str:
        """The version that is chosen unless another one is named; empty if there is none."""
        return "" if self.fresh == self.version else self.version


class Release(Struct, frozen=True, gc=False):
    """One version. Only its yank, its scan verdict and its signatures ever change."""

    id: int
    package: int
    version: str
    digest: str
    archive: str
    size: int
    description: str
    author: str
    license: str
    tags: str
    details: str
    """JSON of `wire.ReleaseDetails`: files, token costs and frontmatter."""
    published: Millis
    publisher: str
    yanked: Millis | None
    yank_reason: str
    verdict: str
    findings: str
    """JSON list of `wire.ReleaseFinding`."""
    signed: str
    provenance: str
    """JSON of `wire.Provenance`; empty unless a CI job published it with trusted publishing."""
    state: str = ReleaseState.ONLINE
    state_reason: str = ""
    """The comment of the reviewer who returned it, or the reason of its quarantine."""
    online: Millis | None = None
    """The time at which it came online, if ever."""
    available: Millis = 0
    """The end of its cool-down: until then only its exact version finds it."""


class ReleaseDraft(Struct, frozen=True, kw_only=True):
    """An admitted release that is not stored yet."""

    kind: str
    name: str
    namespace: str
    visibility: str | None
    """None keeps the current visibility; new packages are private."""
    version: str | None
    """None means the next patch version."""
    digest: str
    archive: str
    size: int
    description: str
    author: str
    license: str
    tags: tuple[str, ...]
    details: str
    verdict: str
    findings: str
    words: tuple[tuple[str, ...], ...]
    """The terms of name, tags, description and body for the search index."""
    spellings: tuple[str, ...]
    """Unstemmed words, for the correction of typos."""
    publisher: str
    at: Millis
    token: str = ""
    """The prefix of the publisher's token, and its address, for the audit log."""
    address: str = ""
    provenance: str = ""
    state: str = ""
    """Empty means online, or in review if an owner of the package asks for reviews."""
    reason: str = ""
    """The reason of a quarantine."""
    cooldown: Millis = 0
    """The length of the cool-down once it is online."""


class PackageFilters(Struct, frozen=True, kw_only=True):
    """Filters of a list. They apply before any limit."""

    kind: str = PackageKind.SKILL
    tag: str = ""
    owner: str = ""
    license: str = ""
    verdict: str = ""
    status: str = ""
    """Empty means every status that lists show."""
    readable_namespaces: tuple[str, ...] | None = ()
    """Namespaces whose private packages are included; None means all."""


class RegistryToken(Struct, frozen=True, kw_only=True):
    id: int
    prefix: str
    """The first characters, to identify the token; the rest is stored as a hash only."""
    holder: str
    """The namespace of the token."""
    scopes: tuple[str, ...]
    note: str
    created: Millis
    expires: Millis | None
    revoked: Millis | None
    parent: int | None = None
    """The token that created this one."""
    user_id: int | None = None
    """The user that it belongs to; it is revoked with them."""
    used: Millis | None = None
    """The hour in which it was last used."""
    publisher_id: int | None = None
    """The trusted publisher whose job has it; it is revoked with them."""
    provenance: str = ""
    """JSON of `wire.Provenance`: the job that has it, for its releases."""

    @property
    def is_sign_in(self) -> bool:
        """Returns True for the row of a sign-in, which has no text."""
        return self.prefix.startswith(SIGN_IN_PREFIX)


class RegistryUser(Struct, frozen=True, kw_only=True):
    """A person who signs in. Issuer and subject identify them; name and email are for display and may be reused elsewhere."""

    id: int
    issuer: str
    subject: str
    name: str
    """Their namespace, which never changes."""
    email: str
    scopes: tuple[str, ...]
    """Those of the last sign-in."""
    created: Millis
    signed_in: Millis | None
    disabled: Millis | None


class DeviceLogin(Struct, frozen=True, kw_only=True):
    """A device that waits for a person to approve its login."""

    user_code: str
    address: str
    """The address of the device."""
    expires: Millis
    polled: Millis
    """The time at which the device asked before."""
    scopes: tuple[str, ...]
    denied: bool
    approver: RegistryToken | None


class Invitation(Struct, frozen=True, kw_only=True):
    scopes: tuple[str, ...]
    note: str
    expires: Millis
    id: str = ""
    """The first characters of its hash, to withdraw it."""


class TrustedPublisher(Struct, frozen=True):
    """A job of a CI system that may publish."""

    id: int
    namespace: str
    package: str
    """Empty means all packages of the namespace."""
    issuer: str
    repository: str
    """In lower case."""
    workflow: str
    ref: str
    """Empty means any; `*` at the end stands for any text."""
    environment: str
    created: Millis
    project_id: str = ""
    """The issuer's number of the repository, from the first exchange."""


class SigningKey(Struct, frozen=True):
    id: int
    namespace: str
    keyid: str
    public: str
    """An Ed25519 public key: 32 bytes in base64."""
    note: str
    created: Millis
    revoked: Millis | None


class Signature(Struct, frozen=True):
    version: str
    kind: str
    """`ed25519` or `sigstore`."""
    signer: str
    """The namespace of the key, or the identity in the certificate."""
    keyid: str
    payload: str
    """The signature in base64, or the sigstore bundle as JSON."""
    created: Millis


class AuditEvent(Struct, frozen=True):
    """One entry of the audit log."""

    at: Millis
    actor: str
    action: str
    subject: str
    details: str = ""
    token: str = ""
    """The prefix of the actor's token."""
    address: str = ""


def iso(time: Millis | None) -> str | None:
    if time is None:
        return None
    return datetime.fromtimestamp(time / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
