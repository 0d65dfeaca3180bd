"""What a registry keeps, as values. Times are milliseconds since 1970, in UTC.

These are msgspec structs and not dataclasses because one is made for every row that is read: 0.3 µs each instead of 3.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum

from msgspec import Struct

__all__ = [
    "AuditEvent",
    "Millis",
    "Package",
    "PackageFilters",
    "PackageKind",
    "PackageStatus",
    "PackageVisibility",
    "RegistryToken",
    "Release",
    "ReleaseDraft",
    "ScanStatus",
    "Signature",
    "SigningKey",
    "Sort",
    "iso",
]

Millis = int
"""Milliseconds since 1970."""


class PackageKind(StrEnum):
    SKILL = "skill"
    AGENT = "agent"


class PackageVisibility(StrEnum):
    PRIVATE = "private"
    """Only for tokens that may read it."""
    PUBLIC = "public"


class PackageStatus(StrEnum):
    """The words of PEP 792, and deleted: gone for everybody, its name kept for its owners for a while."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    DEPRECATED = "deprecated"
    QUARANTINED = "quarantined"
    DELETED = "deleted"


class ScanStatus(StrEnum):
    """What the security scan said of a release."""

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
    """A skill or agent as lists and searches show it: one row, with what is asked most of its current release."""

    id: int
    kind: str
    name: str
    namespace: str
    """Its first owner; a private one is read by whoever may read this namespace."""
    visibility: str
    status: str
    reason: str
    """Why it is deprecated, quarantined or deleted."""
    created: Millis
    updated: Millis
    removed: Millis | None
    downloads: int
    version: str
    """What one gets who asks for none; empty when every release is yanked."""
    description: str
    author: str
    license: str
    tags: str
    """Separated by spaces, as the index of words wants them."""
    verdict: str
    digest: str
    """Of the contents: `metier.archive.digest`."""
    archive: str
    """Hex SHA-256 of the zip, which is also the blob's name."""
    size: int
    signed: str
    """By whom, if the current release is signed."""


class Release(Struct, frozen=True, gc=False):
    """One version. Nothing of it changes but whether it is yanked, judged or signed."""

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
    """JSON of `wire.Details`: files, costs in tokens, what the frontmatter said."""
    published: Millis
    publisher: str
    yanked: Millis | None
    yank_reason: str
    verdict: str
    findings: str
    """JSON list of `wire.Finding`."""
    signed: str


class ReleaseDraft(Struct, frozen=True, kw_only=True):
    """A release that admission has let through, on its way into the store."""

    kind: str
    name: str
    namespace: str
    visibility: str | None
    """None keeps what it is, and makes a new one private."""
    version: str | None
    """None is the next patch."""
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
    """The terms of name, tags, description and body, for the search index."""
    spellings: tuple[str, ...]
    """Words as people write them, to correct typos by."""
    publisher: str
    at: Millis


class PackageFilters(Struct, frozen=True, kw_only=True):
    """What a list is narrowed to, before anything is counted or cut."""

    kind: str = PackageKind.SKILL
    tag: str = ""
    owner: str = ""
    license: str = ""
    verdict: str = ""
    status: str = ""
    """Empty is whatever lists may show."""
    readable_namespaces: tuple[str, ...] | None = ()
    """Namespaces whose private packages may be shown; None is all of them."""


class RegistryToken(Struct, frozen=True, kw_only=True):
    id: int
    prefix: str
    """The first characters, to tell tokens apart; the rest is only kept as a hash."""
    holder: str
    """The namespace that it acts for."""
    scopes: tuple[str, ...]
    note: str
    created: Millis
    expires: Millis | None
    revoked: Millis | None


class SigningKey(Struct, frozen=True):
    id: int
    namespace: str
    keyid: str
    public: str
    """Base64 of the 32 bytes of an Ed25519 key."""
    note: str
    created: Millis
    revoked: Millis | None


class Signature(Struct, frozen=True):
    version: str
    kind: str
    """`ed25519` or `sigstore`."""
    signer: str
    """The namespace whose key it is, or the identity in the certificate."""
    keyid: str
    payload: str
    """The signature in base64, or the whole bundle as JSON."""
    created: Millis


class AuditEvent(Struct, frozen=True):
    """One line of the audit log."""

    at: Millis
    actor: str
    action: str
    subject: str
    details: str = ""


def iso(moment: Millis | None) -> str | None:
    if moment is None:
        return None
    return datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
