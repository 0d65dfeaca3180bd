"""Rows as the wire has them."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from metier.registry import wire
from metier.registry.domain import records as model
from metier.registry.domain.publish import PublishOutcome, findings_of
from metier.registry.domain.records import Millis, Package, RegistryToken, Release, Signature, SigningKey

__all__ = ["SigningKey", "accepted", "details", "home", "iso", "moment", "signature", "skill", "token", "version"]

_iso = lru_cache(maxsize=8192)(model.iso)
_PLURAL = {"skill": "skills", "agent": "agents"}


def home(kind: str, name: str, base: str) -> str:
    return f"{base}/{_PLURAL[kind]}/{name}"


def skill(package: Package, base: str) -> wire.SkillSummary:
    return wire.SkillSummary(
        name=package.name,
        description=package.description,
        version=package.version,
        author=package.author,
        downloads=package.downloads,
        download_url=f"{base}/{_PLURAL[package.kind]}/{package.name}/{package.version}.zip",
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
    package: Package, release: Release, base: str, *, whole: bool = False, signatures: list[Signature] | None = None
) -> wire.VersionRow:
    """One release; `whole` with its files and findings."""
    return wire.VersionRow(
        version=release.version,
        digest=release.digest,
        archive_digest=f"sha256:{release.archive}",
        size=release.size,
        download_url=f"{home(package.kind, package.name, base)}/{release.version}.zip",
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
        details=details(release) if whole else None,
        findings=findings_of(release) if whole else None,
        signatures=None if signatures is None else [signature(each) for each in signatures if each.version == release.version],
    )


def details(release: Release) -> wire.ReleaseDetails:
    return msgspec.json.decode(release.details, type=wire.ReleaseDetails)


def signature(one: Signature) -> wire.SignatureRow:
    return wire.SignatureRow(kind=one.kind, signer=one.signer, keyid=one.keyid, payload=one.payload, created=iso(one.created))


def accepted(published: PublishOutcome, base: str) -> wire.PublishReceipt:
    admitted, release = published.admitted, published.release
    known = release.version if release else admitted.version or ""
    here = home(admitted.kind, admitted.name, base)
    return wire.PublishReceipt(
        name=admitted.name,
        version=known,
        digest=admitted.digest,
        archive_digest=f"sha256:{admitted.archive_name}",
        size=len(admitted.archive),
        url=here,
        download_url=f"{here}/{known}.zip" if known else "",
        created=published.created,
        dry_run=release is None,
        verdict="refused" if admitted.is_refused else admitted.verdict,
        files=admitted.details.files,
        findings=list(admitted.findings),
    )


def token(row: RegistryToken) -> wire.TokenRow:
    return wire.TokenRow(
        id=row.id, prefix=row.prefix, holder=row.holder, scopes=list(row.scopes), note=row.note, created=iso(row.created),
        expires=_iso(row.expires), revoked=_iso(row.revoked),
    )  # fmt: skip


def iso(moment: Millis) -> str:
    return _iso(moment) or ""


def moment(value: Millis | None) -> str | None:
    return _iso(value)
