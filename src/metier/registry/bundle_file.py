"""The format of a bundle: a zip with `bundle.json` and one archive for each release, `skills/NAME-VERSION.zip`.

`read_bundle` checks everything that needs no registry: paths, sizes, digests, names and the signatures of keys.
"""

from __future__ import annotations

import hashlib

import msgspec

from metier.archive import ArchiveFormat, ArchiveLimits, Contents, Member, pack, unpack
from metier.errors import RefusedError, UsageError
from metier.spec import SKILL_FILE, is_name, is_version, parse

from .domain.records import PackageKind, PackageVisibility
from .ed25519 import key_id, release_statement, verify_signature

__all__ = [
    "LARGEST", "BundleDocument", "BundledKey", "BundledRelease", "BundledSignature", "dependencies_of", "pack_bundle",
    "read_bundle", "statement_of",
]  # fmt: skip

_DOCUMENT = "bundle.json"
_FORMAT = "metier-bundle/1"
_MIB = 1024 * 1024
_LIMITS = ArchiveLimits(total=512 * _MIB, file=64 * _MIB, files=10_001)
LARGEST = _LIMITS.total + 16 * _MIB
"""The bytes of the largest file that is read."""
_LONGEST_SKILL_FILE = _MIB


class BundledSignature(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    signer: str
    keyid: str
    payload: str


class BundledRelease(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    version: str
    namespace: str
    visibility: PackageVisibility
    digest: str
    """Digest of the contents, which a signature covers."""
    archive: str
    """Hex SHA-256 of the zip."""
    signatures: tuple[BundledSignature, ...] = ()

    @property
    def path(self) -> str:
        return f"skills/{self.name}-{self.version}.zip"


class BundledKey(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str
    keyid: str
    public: str


class BundleDocument(msgspec.Struct, frozen=True, kw_only=True):
    format: str = _FORMAT
    releases: tuple[BundledRelease, ...]
    keys: tuple[BundledKey, ...] = ()


def pack_bundle(document: BundleDocument, archives: dict[str, bytes]) -> bytes:
    """Returns the same bytes for the same releases. `archives` are those of each path."""
    text = msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
    members = [Member(_DOCUMENT, text), *(Member(path, data) for path, data in archives.items())]
    return pack(Contents(members, limits=_LIMITS), to=ArchiveFormat.ZIP, level=0)


def read_bundle(data: bytes) -> tuple[BundleDocument, dict[str, bytes]]:
    """Returns the releases and the archive of each path. Raises RefusedError for a bundle that does not match itself."""
    if data[:4] != b"PK\3\4":
        raise _refused("this is not a bundle")
    files = {member.path: member.data for member in _unpack(data).members}
    try:
        document = msgspec.json.decode(files.pop(_DOCUMENT, b""), type=BundleDocument)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise _refused(f"the bundle has no valid {_DOCUMENT}: {str(error)[:200]}") from None
    if document.format != _FORMAT:
        raise _refused(f"the bundle has the format {document.format[:40]!r}, not {_FORMAT}")
    for release in document.releases:
        if not is_name(release.name) or not is_version(release.version):
            raise _refused(f"the bundle names an invalid release: {release.name[:80]!r} {release.version[:80]!r}")
    paths = {release.path for release in document.releases}
    if len(paths) != len(document.releases):
        raise _refused("the bundle names a release twice")
    if paths != files.keys():
        odd = min(paths ^ files.keys())
        raise _refused(f"{odd!r} is in the bundle but not in its list" if odd in files else f"the bundle lacks {odd!r}")
    public = {(key.namespace, key.keyid): key.public for key in document.keys if _is_own_id(key)}
    for release in document.releases:
        _check(release, files[release.path], public)
    return document, files


def statement_of(release: BundledRelease) -> bytes:
    return release_statement(kind=PackageKind.SKILL, name=release.name, version=release.version, digest=release.digest)


def dependencies_of(archive: bytes) -> dict[str, str]:
    """Returns the version ranges of declared dependencies by name; empty for any version."""
    manifest = parse(unpack(archive).read(SKILL_FILE, limit=_LONGEST_SKILL_FILE)).manifest
    if manifest is None:
        return {}
    ranges = manifest.extensions.dependency_versions
    return {name: ranges.get(name, "") for name in manifest.extensions.dependencies}


def _unpack(data: bytes) -> Contents:
    try:
        contents = unpack(data, limits=_LIMITS)
    except RefusedError as error:
        raise _refused(f"the bundle is damaged or unsafe: {error}") from error
    if contents.links:
        raise _refused(f"{contents.links[0].path!r} is a link")
    return contents


def _is_own_id(key: BundledKey) -> bool:
    try:
        matches = key_id(key.public) == key.keyid
    except UsageError as error:
        raise _refused(f"a key of {key.namespace[:80]!r} in the bundle is invalid: {error}") from None
    if not matches:
        raise _refused(f"the key {key.keyid[:64]!r} in the bundle has another id")
    return True


def _check(release: BundledRelease, archive: bytes, public: dict[tuple[str, str], str]) -> None:
    who = f"{release.name} {release.version}"
    if hashlib.sha256(archive).hexdigest() != release.archive:
        raise _refused(f"the archive of {who} does not match its digest")
    for signature in release.signatures:
        if signature.kind == "ed25519":
            key = public.get((signature.signer, signature.keyid))
            if key is None:
                raise _refused(f"the bundle lacks the key {signature.keyid[:64]!r} that signed {who}")
            try:
                verify_signature(key, signature.payload, statement_of(release))
            except (RefusedError, UsageError):
                raise _refused(f"a signature of {who} is not valid") from None
        elif signature.kind != "sigstore":
            raise _refused(f"{who} has a signature of the unknown kind {signature.kind[:40]!r}")


def _refused(message: str) -> RefusedError:
    return RefusedError(message, rule="bundle", hint="copy or make the bundle again; nothing was imported")
