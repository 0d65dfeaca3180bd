"""What both ends of a registry say to each other, as JSON. The first six fields of a skill are the ones every client knows."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

__all__ = [
    "AbuseReport",
    "AuditLine",
    "AuditPage",
    "DownloadDay",
    "DownloadStats",
    "FileRow",
    "NewToken",
    "ProblemDetails",
    "PublishReceipt",
    "QueuedJob",
    "ReleaseDetails",
    "ReleaseFinding",
    "SignatureRow",
    "SkillPage",
    "SkillSummary",
    "TokenList",
    "TokenRow",
    "VersionList",
    "VersionRow",
]


class SkillSummary(Struct, kw_only=True):
    """A skill or an agent. The first six fields are those of the plain API; clients may know no more."""

    name: str
    description: str
    version: str
    author: str
    downloads: int
    download_url: str
    owner: str
    visibility: str
    status: str
    reason: str
    license: str
    tags: list[str]
    digest: str
    """`sha256:` of the contents, the same whatever they are packed in."""
    archive_digest: str
    """`sha256:` of the zip behind download_url."""
    size: int
    verdict: str
    signed_by: str
    created: str
    updated: str


class SkillPage(Struct, kw_only=True):
    """A list. There is no total: a number that is true for one visitor and one moment only misleads."""

    skills: list[SkillSummary]
    next: str | None = None
    """Cursor of the next page, if there is one."""
    corrected: dict[str, str] = field(default_factory=dict)
    """Words of the search that were read as others, because nothing is spelt so."""


class FileRow(Struct, kw_only=True):
    path: str
    size: int
    sha256: str
    executable: bool = False


class ReleaseFinding(Struct, kw_only=True):
    """One thing that a rule found."""

    rule: str
    severity: str
    message: str
    file: str
    line: int | None = None
    hint: str = ""


class ReleaseDetails(Struct, kw_only=True):
    """What a release's frontmatter and files say."""

    files: list[FileRow]
    compatibility: str = ""
    allowed_tools: list[str] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    dependencies: list[str] = field(default_factory=list)
    tokens_metadata: int = 0
    tokens_body: int = 0
    tokens_total: int = 0
    uses: list[str] = field(default_factory=list)
    """Of an agent: the skills it names."""


class SignatureRow(Struct, kw_only=True):
    kind: str
    signer: str
    keyid: str
    payload: str
    created: str


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


class VersionList(Struct, kw_only=True):
    name: str
    versions: list[VersionRow]
    tags: dict[str, str]


class PublishReceipt(Struct, kw_only=True):
    """What became of an upload."""

    name: str
    version: str
    digest: str
    archive_digest: str
    size: int
    url: str
    download_url: str
    created: bool
    """False if exactly this was published before."""
    dry_run: bool
    verdict: str
    files: list[FileRow]
    findings: list[ReleaseFinding]


class ProblemDetails(Struct, kw_only=True, omit_defaults=True):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str = ""
    findings: list[ReleaseFinding] = field(default_factory=list)
    limit: int = 0
    """Of a size: bytes."""


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


class NewToken(Struct, kw_only=True):
    """A token just made: the only time that its text is seen."""

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


class AuditLine(Struct, kw_only=True):
    id: int
    at: str
    actor: str
    action: str
    subject: str
    details: Any  # Any: JSON that depends on the action


class AuditPage(Struct, kw_only=True):
    events: list[AuditLine]
    next: str | None = None


class QueuedJob(Struct, kw_only=True, frozen=True):
    id: int
    kind: str
    subject: str
    attempts: int
