"""Records as the API shows them: JSON types, badges and charts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape

import msgspec

from metier.errors import plural
from metier.registry import wire
from metier.registry.domain import records
from metier.registry.domain.publish import PublishOutcome, findings_of
from metier.registry.domain.records import (
    Millis,
    Package,
    PackageKind,
    RegistryToken,
    Release,
    ReleaseState,
    Signature,
    SigningKey,
    TrustedPublisher,
)

__all__ = [
    "badge_svg",
    "chart_svg",
    "details",
    "differing_paths",
    "iso",
    "iso_or_none",
    "package_url",
    "publish_receipt",
    "review",
    "signature",
    "signing_key",
    "skill",
    "token",
    "version",
]

_iso = lru_cache(maxsize=8192)(records.iso)
_PLURAL = {"skill": "skills", "agent": "agents"}
_LETTER = 6.6
_WIDTH, _HEIGHT, _EDGE = 640, 160, 24


def package_url(kind: str, name: str, base: str) -> str:
    return f"{base}/{_PLURAL[kind]}/{name}"


def skill(package: Package, base: str) -> wire.SkillSummary:
    return wire.SkillSummary(
        name=package.name,
        description=package.description,
        version=package.latest,
        author=package.author,
        downloads=package.downloads,
        download_url=f"{base}/{_PLURAL[package.kind]}/{package.name}/{package.version}.zip" if package.latest else "",
        fresh=package.fresh,
        available=iso(package.available) if package.fresh else "",
        owner=package.namespace,
        visibility=package.visibility,
        status=package.status,
        reason=package.reason,
        license=package.license,
        tags=package.tags.split(),
        digest=package.digest,
        archive_digest=f"sha256:{package.archive}",
        size=package.size,
        verdict=package.verdict,
        signed_by=package.signed,
        created=iso(package.created),
        updated=iso(package.updated),
    )


def version(
    package: Package, release: Release, base: str, *, full: bool = False, signatures: list[Signature] | None = None
) -> wire.VersionRow:
    """Returns one release; `full` adds its files and findings."""
    return wire.VersionRow(
        version=release.version,
        digest=release.digest,
        archive_digest=f"sha256:{release.archive}",
        size=release.size,
        download_url=f"{package_url(package.kind, package.name, base)}/{release.version}.zip",
        description=release.description,
        author=release.author,
        license=release.license,
        tags=release.tags.split(),
        published=iso(release.published),
        publisher=release.publisher,
        yanked=release.yanked is not None,
        yank_reason=release.yank_reason,
        verdict=release.verdict,
        signed_by=release.signed,
        details=details(release) if full else None,
        findings=findings_of(release) if full else None,
        provenance=provenance(release),
        available=iso(release.available) if release.available else "",
        signatures=None if signatures is None else [signature(each) for each in signatures if each.version == release.version],
    )


def provenance(release: Release) -> wire.Provenance | None:
    return msgspec.json.decode(release.provenance, type=wire.Provenance) if release.provenance else None


def details(release: Release) -> wire.ReleaseDetails:
    return msgspec.json.decode(release.details, type=wire.ReleaseDetails)


def differing_paths(old: Iterable[wire.FileRow], new: Iterable[wire.FileRow]) -> list[str]:
    """Returns the files that differ, by their digests, sorted by path."""
    hashes = {row.path: row.sha256 for row in old}, {row.path: row.sha256 for row in new}
    return sorted(path for path in {*hashes[0], *hashes[1]} if hashes[0].get(path) != hashes[1].get(path))


def signature(one: Signature) -> wire.SignatureRow:
    return wire.SignatureRow(kind=one.kind, signer=one.signer, keyid=one.keyid, payload=one.payload, created=iso(one.created))


def publish_receipt(published: PublishOutcome, base: str) -> wire.PublishReceipt:
    admitted, package, release = published.admitted, published.package, published.release
    known = release.version if release else admitted.version or ""
    here = package_url(admitted.kind, admitted.name, base)
    return wire.PublishReceipt(
        name=admitted.name,
        version=known,
        digest=admitted.digest,
        archive_digest=f"sha256:{admitted.archive_name}",
        size=len(admitted.archive),
        url=here,
        download_url=f"{here}/{known}.zip" if known else "",
        created=published.created,
        dry_run=published.dry_run,
        verdict="refused" if admitted.is_refused else admitted.verdict,
        files=admitted.details.files,
        findings=list(admitted.findings),
        page=f"{base}/skill/{admitted.name}" if admitted.kind == PackageKind.SKILL else "",
        namespace=package.namespace if package else "",
        visibility=package.visibility if package else "",
        visibility_changed=published.visibility_changed,
        state=release.state if release else "",
        state_reason=release.state_reason if release else "",
        review=_review_page(package, release, base) if package and release else "",
        available=iso(release.available) if release and release.available else "",
    )


def _review_page(package: Package, release: Release, base: str) -> str:
    is_shown = release.state != ReleaseState.ONLINE and package.kind == PackageKind.SKILL
    return f"{base}/review/{package.name}/{release.version}" if is_shown else ""


def review(package: Package, release: Release, base: str) -> wire.ReviewRow:
    return wire.ReviewRow(
        id=release.id, kind=package.kind, name=package.name, version=release.version, namespace=package.namespace,
        state=release.state, comment=release.state_reason, digest=release.digest, publisher=release.publisher,
        uploaded=iso(release.published), verdict=release.verdict, current=package.version,
        page=_review_page(package, release, base),
    )  # fmt: skip


def token(row: RegistryToken) -> wire.TokenRow:
    return wire.TokenRow(
        id=row.id, prefix=row.prefix, holder=row.holder, scopes=list(row.scopes), note=row.note, created=iso(row.created),
        expires=_iso(row.expires), revoked=_iso(row.revoked), parent=row.parent,
        used=_iso(row.used),
    )  # fmt: skip


def trusted_publisher(row: TrustedPublisher) -> wire.TrustedPublisherRow:
    return wire.TrustedPublisherRow(
        id=row.id, namespace=row.namespace, package=row.package, issuer=row.issuer, repository=row.repository,
        workflow=row.workflow, ref=row.ref, environment=row.environment, created=iso(row.created),
    )  # fmt: skip


def signing_key(row: SigningKey, *, note: bool = True) -> wire.KeyRow:
    return wire.KeyRow(
        keyid=row.keyid, public=row.public, note=row.note if note else "", created=iso(row.created),
        revoked=iso_or_none(row.revoked),
    )  # fmt: skip


def iso(time: Millis) -> str:
    return _iso(time) or ""


def iso_or_none(time: Millis | None) -> str | None:
    return _iso(time)


def badge_svg(label: str, value: str, *, colour: str = "#2f6f4f") -> str:
    left, right = len(label) * _LETTER + 12, len(value) * _LETTER + 12
    text = 'font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" fill="#fff" text-anchor="middle"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:.0f}" height="20" role="img"'
        f' aria-label="{escape(label)}: {escape(value)}"><title>{escape(label)}: {escape(value)}</title>'
        f'<rect width="{left:.1f}" height="20" fill="#444"/>'
        f'<rect x="{left:.1f}" width="{right:.1f}" height="20" fill="{colour}"/>'
        f'<g {text}><text x="{left / 2:.1f}" y="14">{escape(label)}</text>'
        f'<text x="{left + right / 2:.1f}" y="14">{escape(value)}</text></g></svg>'
    )


def chart_svg(days: Sequence[wire.DownloadDay], *, title: str) -> str:
    """Returns a bar chart with one bar per day. Colours follow the page that shows it."""
    most = max((day.downloads for day in days), default=0)
    wide, high = _WIDTH - 2 * _EDGE, _HEIGHT - 2 * _EDGE
    step = wide / max(len(days), 1)
    bars = "".join(
        f'<rect x="{_EDGE + place * step:.1f}" y="{_HEIGHT - _EDGE - high * day.downloads / most:.1f}"'
        f' width="{max(step - 1, 0.5):.1f}" height="{high * day.downloads / most:.1f}">'
        f"<title>{day.day}: {day.downloads:,}</title></rect>"
        for place, day in enumerate(days)
        if day.downloads
    )
    total = sum(day.downloads for day in days)
    span = f"{days[0].day} to {days[-1].day}" if days else ""
    label = f"{title}: {plural(total, 'download')}, {span}"
    small = 'font-family="system-ui,sans-serif" font-size="11" fill="#888"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">'
        f'<title>{escape(label)}</title><g fill="#2f6f4f">{bars}</g>'
        f'<path d="M{_EDGE} {_HEIGHT - _EDGE}h{wide}" stroke="#888" stroke-width="1"/>'
        f'<text x="{_EDGE}" y="{_HEIGHT - 8}" {small}>{days[0].day if days else ""}</text>'
        f'<text x="{_WIDTH - _EDGE}" y="{_HEIGHT - 8}" {small} text-anchor="end">{days[-1].day if days else ""}</text>'
        f'<text x="{_EDGE}" y="16" {small}>Maximum: {most:,} per day</text></svg>'
    )
