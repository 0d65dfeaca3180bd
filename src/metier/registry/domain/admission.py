"""Checks an upload: unpacks, validates, hashes and scans it, and reports all findings.

It is slow and uses no store, so it runs in a process of its own.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable
from typing import Protocol

import msgspec

from metier.archive import ArchiveFormat, Contents, digest, file_hashes, pack, strip_top_folder, unpack
from metier.errors import InvalidSkillError, RefusedError
from metier.registry.wire import FileRow, ReleaseDetails, ReleaseFinding
from metier.scan import SkillTraits, skill_traits
from metier.spec import (
    SKILL_FILE,
    Files,
    Manifest,
    Problem,
    Report,
    Severity,
    check,
    estimate_tokens,
    is_name,
    is_version,
    parse,
)
from metier.values import dataclass, replace

from .records import PackageKind, ScanStatus
from .search_terms import document_terms, spelling_words
from .secrets import find_secrets

__all__ = [
    "AGENT_FILE",
    "Admission",
    "ReleaseScan",
    "ReleaseScanner",
    "admit",
    "findings_from",
    "scan_release",
    "with_tolerated",
]

AGENT_FILE = "agent.toml"
TOLERATED = frozenset({"SK141", "SK150", "SK160"})
"""Rules that are warnings here: lists instead of text, and unknown keys. Most public skills break them."""
_LONGEST_BODY = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReleaseScan:
    """The result of a security scan."""

    verdict: ScanStatus
    problems: tuple[Problem, ...] = ()


class ReleaseScanner(Protocol):
    def __call__(self, files: Files, *, name: str) -> ReleaseScan:
        """Scans files. A verdict of BLOCK prevents publishing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    kind: PackageKind
    file: str
    """SKILL.md or agent.toml."""
    name: str
    version: str | None
    description: str
    author: str
    license: str
    tags: tuple[str, ...]
    digest: str
    archive: bytes
    """The repacked zip. It is identical for identical contents."""
    archive_name: str
    details: ReleaseDetails
    verdict: ScanStatus
    findings: tuple[ReleaseFinding, ...]
    """Errors and warnings."""
    words: tuple[tuple[str, ...], ...]
    spellings: tuple[str, ...]
    traits: SkillTraits = SkillTraits()
    """What advisories may name in its files."""
    is_refused: bool = False

    @property
    def details_json(self) -> str:
        return msgspec.json.encode(self.details).decode()

    @property
    def findings_json(self) -> str:
        return msgspec.json.encode(self.findings).decode()


def admit(data: bytes, kind: PackageKind, scanner: ReleaseScanner | None = None, version: str | None = None) -> Admission:
    """Checks an upload. Raises RefusedError for an unsafe archive; other problems become findings."""
    contents = strip_top_folder(unpack(data))
    if contents.links:
        raise RefusedError(f"{contents.links[0].path!r} is a symbolic link", rule="archive-link",
                      hint="replace it with the file")  # fmt: skip
    head = _skill(contents) if kind is PackageKind.SKILL else _agent(contents)
    problems = [*head.problems, *find_secrets(contents)]
    result = scanner(contents, name=head.name) if scanner else ReleaseScan(ScanStatus.UNKNOWN)
    problems += result.problems
    wanted = version or head.version
    if wanted is not None and not is_version(wanted):
        problems.append(
            Problem(code="SK304", severity=Severity.ERROR, message=f"invalid version {wanted!r}",
                    file=head.file, hint="use three numbers such as 1.4.0, or omit it")
        )  # fmt: skip
    if any("\0" in text for text in (head.description, head.author, head.license, *head.tags)):
        problems.append(
            Problem(code="RG003", severity=Severity.ERROR, message="the metadata contains a NUL character", file=head.file,
                    hint="remove it")
        )  # fmt: skip
    blocked = result.verdict is ScanStatus.BLOCK
    archive = pack(contents, to=ArchiveFormat.ZIP)
    return Admission(
        kind=kind,
        file=head.file,
        name=head.name,
        version=wanted,
        description=head.description,
        author=head.author,
        license=head.license,
        tags=head.tags,
        digest=digest(contents),
        archive=archive,
        archive_name=hashlib.sha256(archive).hexdigest(),
        details=_details(contents, head),
        verdict=result.verdict,
        findings=findings_from(problems),
        words=document_terms(head.name, head.tags, head.description, head.body),
        spellings=spelling_words(head.name, " ".join(head.tags), head.description),
        traits=skill_traits(contents),
        is_refused=blocked or any(problem.severity is Severity.ERROR for problem in problems),
    )


def scan_release(files: Files, *, name: str) -> ReleaseScan:
    """The scanner that metier comes with."""
    # Imported here: a process that only reads releases needs none of its rules.
    from metier.scan import scan

    report = scan(files, folder=name)
    return ReleaseScan(ScanStatus(report.verdict.value), tuple(report.report))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """The metadata of an uploaded package."""

    file: str
    name: str
    description: str
    version: str | None
    author: str
    license: str = ""
    tags: tuple[str, ...] = ()
    body: str = ""
    problems: tuple[Problem, ...] = ()
    manifest: Manifest | None = None
    uses: tuple[str, ...] = ()


def _skill(contents: Contents) -> _Head:
    report = Report.of(with_tolerated(check(contents)))
    parsed = parse(contents.read(SKILL_FILE, limit=_LONGEST_BODY)) if _has(contents, SKILL_FILE) else None
    manifest = parsed.manifest if parsed else None
    if parsed is None or manifest is None or not is_name(manifest.name):
        raise InvalidSkillError("the archive is not a valid skill", report=report)
    more = manifest.extensions
    return _Head(
        file=SKILL_FILE, name=manifest.name, description=" ".join(manifest.description.split()), version=more.version or None,
        author=more.author or "", license=manifest.license or "", tags=_tags(more.tags), body=parsed.body,
        problems=report.problems, manifest=manifest,
    )  # fmt: skip


def _agent(contents: Contents) -> _Head:
    try:
        fields = tomllib.loads(contents.read(AGENT_FILE, limit=_LONGEST_BODY).decode()) if _has(contents, AGENT_FILE) else None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _invalid_agent(f"{AGENT_FILE} is not valid TOML: {error}") from error
    if fields is None:
        raise _invalid_agent(f"{AGENT_FILE} is missing")
    inner = fields.get("agent")
    table = inner if isinstance(inner, dict) else fields
    name = str(table.get("name", ""))
    if not is_name(name):
        raise _invalid_agent(f"{AGENT_FILE} has no valid name")
    uses = table.get("skills")
    tags = table.get("tags")
    return _Head(
        file=AGENT_FILE, name=name, description=" ".join(str(table.get("description", "")).split())[:1024],
        version=str(table["version"]) if is_version(str(table.get("version", ""))) else None,
        author=str(table.get("author", "")), license=str(table.get("license", "")),
        tags=_tags(map(str, tags)) if isinstance(tags, list) else (),
        body=str(table.get("instructions", "")),
        uses=tuple(map(str, uses)) if isinstance(uses, list) else (),
    )  # fmt: skip


def _invalid_agent(message: str) -> InvalidSkillError:
    problem = Problem(code="SK001", severity=Severity.ERROR, message=message, file=AGENT_FILE)
    return InvalidSkillError("the archive is not a valid agent", report=Report((problem,)), hint="see `metier agent create`")


def _has(contents: Contents, path: str) -> bool:
    return any(entry.path == path for entry in contents.list())


def _tags(words: Iterable[str]) -> tuple[str, ...]:
    """Returns tags as used in addresses: lowercase, with hyphens for spaces."""
    cleaned = ("-".join(word.lower().split())[:40] for word in words)
    return tuple(dict.fromkeys(tag for tag in cleaned if tag))[:20]


def with_tolerated(report: Report) -> Iterable[Problem]:
    for problem in report:
        yield replace(problem, severity=Severity.WARNING) if problem.code in TOLERATED else problem


def findings_from(problems: Iterable[Problem]) -> tuple[ReleaseFinding, ...]:
    return tuple(
        ReleaseFinding(
            rule=problem.code,
            severity=problem.severity,
            message=problem.message,
            file=problem.file,
            line=problem.line,
            hint=problem.hint,
        )
        for problem in Report.of(problems)
    )


def _details(contents: Contents, head: _Head) -> ReleaseDetails:
    hashes = file_hashes(contents)
    rows = [FileRow(path=entry.path, size=entry.size, sha256=hashes[entry.path][1], executable=entry.executable) for entry in
            contents.list()]  # fmt: skip
    manifest = head.manifest
    texts = sum((row.size + 3) // 4 for row in rows if row.path != head.file)
    metadata = estimate_tokens(head.name) + estimate_tokens(head.description)
    body = estimate_tokens(head.body)
    return ReleaseDetails(
        files=rows,
        compatibility=(manifest.compatibility or "") if manifest else "",
        allowed_tools=list(manifest.allowed_tools) if manifest else [],
        metadata=dict(manifest.metadata) if manifest else {},
        dependencies=list(manifest.extensions.dependencies) if manifest else [],
        tokens_metadata=metadata,
        tokens_body=body,
        tokens_total=metadata + body + texts,
        uses=list(head.uses),
    )
