"""The JSON types of the registry's API.

Fields with a default may be missing in the responses of other servers; clients tolerate that.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

__all__ = [
    "AbuseReport",
    "AdvisoryChange",
    "AdvisoryKeyRow",
    "AdvisoryRow",
    "AuditLine",
    "AuditPage",
    "DownloadDay",
    "DownloadStats",
    "EnvelopeSignature",
    "FileRow",
    "KeyRow",
    "NewToken",
    "ProblemDetails",
    "PublishReceipt",
    "QueuedJob",
    "ReleaseDetails",
    "ReleaseFinding",
    "ReviewDetails",
    "ReviewList",
    "ReviewRow",
    "SignatureRow",
    "SignedEnvelope",
    "SkillPage",
    "SkillSummary",
    "TokenList",
    "TokenRow",
    "VersionList",
    "VersionRow",
]


class SkillSummary(Struct, kw_only=True):
    """A skill or an agent. The first six fields are the ones that every registry client knows."""

    name: str
    description: str
    version: str
    author: str = ""
    downloads: int = 0
    download_url: str = ""
    owner: str = ""
    visibility: str = ""
    status: str = ""
    reason: str = ""
    license: str = ""
    tags: list[str] = field(default_factory=list)
    digest: str = ""
    """`sha256:` of the contents, independent of the archive format."""
    archive_digest: str = ""
    """`sha256:` of the zip at download_url."""
    size: int = 0
    verdict: str = ""
    signed_by: str = ""
    created: str = ""
    updated: str = ""
    fresh: str = ""
    """The newest version, while it is in its cool-down. `version` is an older one then, or empty."""
    available: str = ""
    """The end of that cool-down."""


class SkillPage(Struct, kw_only=True):
    """One page of a list. It has no total, because a total would be true for one caller and one moment only."""

    skills: list[SkillSummary]
    next: str | None = None
    """Cursor of the next page, if there is one."""
    corrected: dict[str, str] = field(default_factory=dict)
    """Words of the query without results, and the words that were searched instead."""


class FileRow(Struct, kw_only=True):
    path: str
    size: int
    sha256: str
    executable: bool = False


class ReleaseFinding(Struct, kw_only=True):
    """One finding of a check or of the security scan."""

    rule: str
    severity: str
    message: str
    file: str
    line: int | None = None
    hint: str = ""


class AdvisoryRow(Struct, kw_only=True):
    """One advisory, in the form of an advisory file."""

    id: str
    summary: str = ""
    digests: list[str] = []
    names: list[str] = []
    """`NAME` or `NAME@RANGE`."""
    publishers: list[str] = []
    hosts: list[str] = []
    packages: list[str] = []
    """`pypi:NAME` or `npm:NAME`."""


class AdvisoryChange(Struct, kw_only=True):
    """The result of adding or withdrawing an advisory."""

    id: str
    number: int
    """The number of the list with this change."""
    quarantined: list[str] = []
    """Versions that were quarantined, or that a withdrawn advisory leaves quarantined, as `NAME VERSION`."""


class AdvisoryKeyRow(Struct, kw_only=True):
    """The public key that signs the list of advisories."""

    keyid: str
    public: str


class EnvelopeSignature(Struct, kw_only=True):
    keyid: str
    sig: str


class SignedEnvelope(Struct, kw_only=True, rename={"payload_type": "payloadType"}):
    """A DSSE envelope: a payload in base64, and its signatures."""

    payload: str
    payload_type: str
    signatures: list[EnvelopeSignature]


class ReleaseDetails(Struct, kw_only=True):
    """The files and frontmatter of a release."""

    files: list[FileRow]
    compatibility: str = ""
    allowed_tools: list[str] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    dependencies: list[str] = field(default_factory=list)
    tokens_metadata: int = 0
    tokens_body: int = 0
    tokens_total: int = 0
    uses: list[str] = field(default_factory=list)
    """The skills that an agent uses."""


class SignatureRow(Struct, kw_only=True):
    kind: str
    signer: str
    keyid: str
    payload: str
    created: str


class Provenance(Struct, kw_only=True):
    """The CI job of a release, from its verified ID token."""

    issuer: str
    repository: str
    commit: str
    workflow: str
    ref: str
    run_url: str


class TrustedPublisherRow(Struct, kw_only=True):
    id: int
    namespace: str
    package: str
    issuer: str
    repository: str
    workflow: str
    ref: str
    environment: str
    created: str


class TrustedPublisherList(Struct, kw_only=True):
    publishers: list[TrustedPublisherRow]


class VersionRow(Struct, kw_only=True):
    version: str
    digest: str
    archive_digest: str
    size: int
    download_url: str
    description: str
    author: str
    license: str
    tags: list[str]
    published: str
    publisher: str
    yanked: bool
    yank_reason: str
    verdict: str
    signed_by: str
    details: ReleaseDetails | None = None
    findings: list[ReleaseFinding] | None = None
    signatures: list[SignatureRow] | None = None
    provenance: Provenance | None = None
    """The CI job that published it with trusted publishing."""
    available: str = ""
    """The end of its cool-down, until which only its exact version should be chosen; empty after that."""


class ReviewRow(Struct, kw_only=True):
    """A version that is not online."""

    id: int
    kind: str
    name: str
    version: str
    namespace: str
    state: str
    comment: str
    """The comment of the reviewer who returned it, or the reason of its quarantine."""
    digest: str
    publisher: str
    uploaded: str
    verdict: str
    current: str
    """The version that is online; empty if there is none."""
    page: str = ""


class ReviewList(Struct, kw_only=True):
    reviews: list[ReviewRow]
    next: str | None = None
    """`before` of the next page, if there is one."""


class ReviewStep(Struct, kw_only=True):
    at: str
    actor: str
    action: str
    details: str


class ReviewDetails(Struct, kw_only=True):
    """A version that is not online, with all that a reviewer looks at."""

    review: ReviewRow
    version: VersionRow
    lint: list[ReleaseFinding]
    capabilities: list[str]
    """One line for each kind, as in `metier skill scan`."""
    new_capabilities: list[str]
    """The lines that the current version does not have."""
    changed_files: list[str]
    """The files that differ from the current version."""
    history: list[ReviewStep]


class VersionList(Struct, kw_only=True):
    name: str
    versions: list[VersionRow]
    tags: dict[str, str]


class PublishReceipt(Struct, kw_only=True):
    """The result of an upload."""

    name: str
    version: str
    digest: str
    archive_digest: str
    size: int
    url: str
    download_url: str
    created: bool
    """False if the same contents were published before. For a dry run: whether the upload would create a release."""
    dry_run: bool
    verdict: str
    files: list[FileRow]
    findings: list[ReleaseFinding]
    page: str = ""
    """The address of the skill's page. Empty for an agent, and from an older server."""
    namespace: str = ""
    visibility: str = ""
    """`private` or `public`, after the upload; empty if the upload is refused."""
    visibility_changed: bool = False
    """True if the upload changed the visibility of a package that exists."""
    state: str = ""
    """`online`, `review`, `draft` or `quarantined`; empty if the upload is refused, and from an older server."""
    state_reason: str = ""
    review: str = ""
    """The address of the page of a version that is not online."""
    available: str = ""
    """The end of its cool-down, if it has one."""


class ProblemDetails(Struct, kw_only=True, omit_defaults=True):
    """An error response as in RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str = ""
    findings: list[ReleaseFinding] = field(default_factory=list)
    limit: int = 0
    """The exceeded size limit in bytes."""


class DownloadDay(Struct, kw_only=True):
    day: str
    downloads: int


class DownloadStats(Struct, kw_only=True):
    name: str
    downloads: int
    days: list[DownloadDay]


class TokenRow(Struct, kw_only=True):
    id: int
    prefix: str
    holder: str
    scopes: list[str]
    note: str
    created: str
    expires: str | None
    revoked: str | None
    parent: int | None = None
    """The number of the token that created this one; it is revoked with it."""
    used: str | None = None
    """The last use, to the hour."""


class KeyRow(Struct, kw_only=True):
    keyid: str
    public: str
    note: str
    created: str
    revoked: str | None


class NewToken(Struct, kw_only=True):
    """A new token. Its text is not stored and cannot be shown again."""

    token: str
    row: TokenRow


class TokenList(Struct, kw_only=True):
    tokens: list[TokenRow]


class AbuseReport(Struct, kw_only=True):
    id: int = 0
    kind: str = "skill"
    name: str = ""
    version: str = ""
    reporter: str = ""
    reason: str
    details: str = ""
    state: str = "open"
    created: str = ""
    note: str = ""
    address: str = ""
    """The address of a reporter without a token."""


class AuditLine(Struct, kw_only=True):
    id: int
    at: str
    actor: str
    action: str
    subject: str
    details: Any  # Any: JSON that depends on the action
    token: str = ""
    """The prefix of the actor's token."""
    address: str = ""


class AuditPage(Struct, kw_only=True):
    events: list[AuditLine]
    next: str | None = None


class QueuedJob(Struct, kw_only=True, frozen=True):
    id: int
    kind: str
    subject: str
    attempts: int
