"""Bundles: chosen skills and everything they depend on in one file, for a registry without a network."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

import msgspec

from metier.errors import ConflictError, InvalidSkillError, NotFoundError, RefusedError, UnavailableError, UsageError
from metier.sources import replace_bytes
from metier.values import dataclass

from .bundle_file import (
    LARGEST,
    BundledKey,
    BundleDocument,
    BundledRelease,
    BundledSignature,
    dependencies_of,
    pack_bundle,
    read_bundle,
    statement_of,
)
from .domain.access import Caller
from .domain.admission import Admission, admit, scan_release
from .domain.protocols import BlobStore, nothing
from .domain.publish import check_namespace, draft_release, report_of
from .domain.queries import Queries
from .domain.records import (
    Package,
    PackageKind,
    PackageStatus,
    PackageVisibility,
    Release,
    ReleaseState,
    Signature,
    SigningKey,
)
from .domain.registry import now_millis
from .domain.signatures import LARGEST_BUNDLE, verified_identity
from .location import RegistryLocation
from .maintenance import shell_user
from .store import SqlStore
from .store.release_import import ImportedRelease, import_releases

__all__ = ["BundleResult", "BundleRow", "bundle", "unbundle"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleRow:
    name: str
    version: str
    namespace: str
    signers: tuple[str, ...]
    needed_by: str = ""
    """The skill that depends on it; empty for one that was chosen."""
    created: bool = False
    """True if an import added it, False if the registry had it already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleResult:
    releases: tuple[BundleRow, ...]
    keys: tuple[str, ...]
    """The public keys in a new bundle, or those that an import added, as `NAMESPACE KEYID`."""
    sha256: str
    """Digest of the file, to be compared after its journey."""
    bytes: int


async def bundle(location: RegistryLocation, file: str, wanted: Sequence[str], *, dependencies: bool = True) -> BundleResult:
    """Writes a bundle of skills given as NAME or NAME@VERSION, where VERSION may be a range or a tag.

    Each dependency is bundled in the newest version that fits its range. Raises NotFoundError for one that is not in the
    registry, RefusedError for a yanked or quarantined release, and ConflictError if the file exists.
    """
    if os.path.exists(file):
        raise ConflictError(f"{file} exists already", hint="delete it, or choose another name")
    async with location.open() as (store, blobs):
        source = _Source(store, blobs)
        for text in dict.fromkeys(wanted):
            name, _, version = text.partition("@")
            await source.add(name, version)
        if dependencies:
            await source.add_dependencies()
        keys = await source.active_keys()
        releases, archives = await source.bundled(keys)
    signed = {(signature.signer, signature.keyid) for release in releases for signature in release.signatures}
    used = tuple(key for key in keys if (key.namespace, key.keyid) in signed)
    data = pack_bundle(BundleDocument(releases=releases, keys=used), archives)
    try:
        replace_bytes(file, data)
    except OSError as error:
        raise UnavailableError(
            f"cannot write {file}: {(error.strerror or str(error)).lower()}", hint="choose a folder that you can write"
        ) from error
    rows = tuple(_row(release, needed_by=source.needed_by(release)) for release in releases)
    return _result(rows, tuple(f"{key.namespace} {key.keyid}" for key in used), data)


async def unbundle(
    location: RegistryLocation, file: str, *, namespace: str = "", accept_keys: bool = False, dry_run: bool = False
) -> BundleResult:
    """Imports all releases of a bundle or none. `namespace` replaces the namespaces in the bundle.

    Every release passes the checks of an upload. Raises RefusedError for a bundle that does not match itself, and
    ConflictError for a version that the registry has with other contents.
    """
    data = _read(file)
    document, archives = read_bundle(data)
    caller, now = shell_user(), now_millis()
    keys = _keys(document, namespace, now)
    for name in {namespace or release.namespace for release in document.releases} | {key.namespace for key in keys}:
        check_namespace(name)
    releases = sorted(document.releases, key=lambda each: (each.name, each.version))
    admissions = [_admit(release, archives[release.path]) for release in releases]
    async with location.open() as (store, blobs):
        queries = Queries(store, blobs, now_millis)
        await _check_dependencies(queries, caller, admissions)
        imported = []
        for release, admitted in zip(releases, admissions, strict=True):
            is_known = await store.find_package(PackageKind.SKILL, release.name) is not None
            visibility = None if is_known else release.visibility
            # The administrator who imports it answers for it, so it waits for no review.
            draft = msgspec.structs.replace(
                draft_release(caller, namespace or release.namespace, admitted, visibility=visibility, at=now),
                state=ReleaseState.ONLINE,
            )
            signatures = tuple(_signature(release, each, namespace or each.signer, now) for each in release.signatures)
            imported.append(ImportedRelease(draft=draft, signatures=signatures, keep_archive=_ArchiveWrite(blobs, admitted)))
        # The dry run finds every conflict before an archive is written.
        created, new_keys = await import_releases(
            store, caller, [_without_archive(each) for each in imported], keys, accept_keys=accept_keys, at=now, dry_run=True
        )
        if not dry_run:
            for admitted in admissions:
                await blobs.put(admitted.archive_name, admitted.archive)
            created, new_keys = await import_releases(
                store, caller, imported, keys, accept_keys=accept_keys, at=now, dry_run=False
            )
    rows = tuple(
        BundleRow(
            name=each.draft.name, version=each.draft.version or "", namespace=each.draft.namespace, created=is_new,
            signers=tuple(signature.signer for signature in each.signatures),
        )
        for each, is_new in zip(imported, created, strict=True)
    )  # fmt: skip
    return _result(rows, tuple(f"{key.namespace} {key.keyid}" for key in new_keys), data)


class _Source:
    """The releases of a new bundle."""

    def __init__(self, store: SqlStore, blobs: BlobStore) -> None:
        self._store = store
        self._queries = Queries(store, blobs, now_millis)
        self._caller = shell_user()
        self._found: dict[tuple[str, str], tuple[Package, Release, bytes]] = {}
        self._needed_by: dict[tuple[str, str], str] = {}

    async def add(self, name: str, version: str, *, needed_by: str = "") -> None:
        package, release = await self._queries.release(self._caller, PackageKind.SKILL, name, version)
        key = (name, release.version)
        if key in self._found:
            return
        who = f"{name} {release.version}"
        if release.yanked is not None:
            raise RefusedError(f"{who} is yanked: {release.yank_reason or 'no reason was given'}", rule="yanked",
                               hint="choose another version")  # fmt: skip
        if package.status == PackageStatus.QUARANTINED:
            raise RefusedError(f"{name} is quarantined: {package.reason or 'it is under review'}", rule="quarantined",
                               hint="end its quarantine first")  # fmt: skip
        self._found[key] = package, release, await self._queries.archive(release.archive)
        self._needed_by[key] = needed_by

    async def add_dependencies(self) -> None:
        done: set[tuple[str, str]] = set()
        while left := [key for key in self._found if key not in done]:
            for key in left:
                done.add(key)
                await self._add_dependencies_of(key)

    async def _add_dependencies_of(self, key: tuple[str, str]) -> None:
        for name, versions in dependencies_of(self._found[key][2]).items():
            if not versions and any(found == name for found, _ in self._found):
                continue
            try:
                await self.add(name, versions, needed_by=key[0])
            except NotFoundError as error:
                raise NotFoundError(
                    f"{key[0]} {key[1]} depends on {_wanted(name, versions)}, which is not in this registry",
                    hint=f"publish {name} first, or use --no-deps",
                ) from error

    async def active_keys(self) -> tuple[BundledKey, ...]:
        owners = {owner for package, _, _ in self._found.values() for owner in await self._store.owners(package.id)}
        found = [
            BundledKey(namespace=key.namespace, keyid=key.keyid, public=key.public)
            for owner in sorted(owners)
            for key in await self._store.keys(owner)
            if key.revoked is None
        ]
        return tuple(found)

    async def bundled(self, keys: Sequence[BundledKey]) -> tuple[tuple[BundledRelease, ...], dict[str, bytes]]:
        """Returns the releases by name, without signatures of revoked keys, and the archive of each path."""
        active = {(key.namespace, key.keyid) for key in keys}
        releases, archives = [], {}
        for _, (package, release, data) in sorted(self._found.items()):
            signatures = tuple(
                BundledSignature(kind=each.kind, signer=each.signer, keyid=each.keyid, payload=each.payload)
                for each in await self._store.signatures(package.id)
                if each.version == release.version and (each.kind != "ed25519" or (each.signer, each.keyid) in active)
            )
            bundled = BundledRelease(
                name=package.name, version=release.version, namespace=package.namespace,
                visibility=PackageVisibility(package.visibility), digest=release.digest, archive=release.archive,
                signatures=signatures,
            )  # fmt: skip
            releases.append(bundled)
            archives[bundled.path] = data
        return tuple(releases), archives

    def needed_by(self, release: BundledRelease) -> str:
        return self._needed_by[release.name, release.version]


@dataclass(frozen=True, slots=True)
class _ArchiveWrite:
    """Writes an archive again that garbage collection deleted before the rows were written."""

    blobs: BlobStore
    admitted: Admission

    async def __call__(self) -> None:
        if not await self.blobs.has(self.admitted.archive_name):
            await self.blobs.put(self.admitted.archive_name, self.admitted.archive)


def _read(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            data = opened.read(LARGEST + 1)
    except OSError as error:
        message = f"cannot read {file}: {(error.strerror or str(error)).lower()}"
        raise NotFoundError(message, hint="pass the file that `metier registry bundle` wrote") from error
    if len(data) > LARGEST:
        raise UsageError(f"{file} has more than {LARGEST:,} bytes", hint="make several smaller bundles")
    return data


async def _check_dependencies(queries: Queries, caller: Caller, admissions: Sequence[Admission]) -> None:
    """Raises NotFoundError for a dependency that is neither in the bundle nor in the registry."""
    present = {admitted.name for admitted in admissions}
    for admitted in admissions:
        for name, versions in dependencies_of(admitted.archive).items():
            if name in present:
                continue
            try:
                await queries.release(caller, PackageKind.SKILL, name, versions)
            except NotFoundError as error:
                raise NotFoundError(
                    f"{admitted.name} {admitted.version} depends on {_wanted(name, versions)}, which is neither in the bundle"
                    " nor in this registry",
                    hint=f"import {name} first, or make the bundle without --no-deps; nothing was imported",
                ) from error


def _wanted(name: str, versions: str) -> str:
    return repr(f"{name}@{versions}" if versions else name)


def _admit(release: BundledRelease, archive: bytes) -> Admission:
    who = f"{release.name} {release.version}"
    try:
        admitted = admit(archive, PackageKind.SKILL, scan_release, release.version)
    except InvalidSkillError as error:
        raise InvalidSkillError(f"{who} is not a valid skill; nothing was imported", report=error.report) from error
    except RefusedError as error:
        raise RefusedError(f"the archive of {who} is refused: {error}", rule=error.rule, hint=error.hint) from error
    if admitted.name != release.name or admitted.digest != release.digest:
        raise RefusedError(f"the contents of {who} do not match the digest in the bundle", rule="bundle",
                           hint="copy or make the bundle again; nothing was imported")  # fmt: skip
    if admitted.is_refused:
        raise InvalidSkillError(
            f"{who} does not pass the checks of this registry; nothing was imported", report=report_of(admitted.findings),
            hint="make the bundle without it",
        )  # fmt: skip
    return admitted


def _signature(release: BundledRelease, signature: BundledSignature, namespace: str, now: int) -> Signature:
    """Returns a signature as this registry stores it. `read_bundle` has verified those of keys."""
    if signature.kind == "ed25519":
        return Signature(release.version, "ed25519", namespace, signature.keyid, signature.payload, now)
    if len(signature.payload) > LARGEST_BUNDLE:
        raise UsageError(f"the sigstore bundle of {release.name} is too large", hint=f"the limit is {LARGEST_BUNDLE:,} bytes")
    signer = verified_identity(signature.payload, statement_of(release))
    return Signature(release.version, "sigstore", signer, "sigstore", signature.payload, now)


def _keys(document: BundleDocument, namespace: str, now: int) -> list[SigningKey]:
    """Returns the keys that signed a release."""
    public = {(key.namespace, key.keyid): key.public for key in document.keys}
    found = {
        (namespace or signature.signer, signature.keyid): public[signature.signer, signature.keyid]
        for release in document.releases
        for signature in release.signatures
        if signature.kind == "ed25519"
    }
    return [SigningKey(0, owner, keyid, text, "from a bundle", now, None) for (owner, keyid), text in sorted(found.items())]


def _without_archive(release: ImportedRelease) -> ImportedRelease:
    return ImportedRelease(draft=release.draft, signatures=release.signatures, keep_archive=nothing)


def _row(release: BundledRelease, *, needed_by: str) -> BundleRow:
    signers = tuple(signature.signer for signature in release.signatures)
    return BundleRow(
        name=release.name, version=release.version, namespace=release.namespace, signers=signers, needed_by=needed_by
    )


def _result(rows: tuple[BundleRow, ...], keys: tuple[str, ...], data: bytes) -> BundleResult:
    return BundleResult(releases=rows, keys=keys, sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
