"""Signatures beside an artefact of an OCI registry: Sigstore bundles that name it as their subject.

They are found by the referrers API. A registry without it has an index under the tag `sha256-DIGEST`, which clients keep
themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from metier.errors import RefusedError
from metier.registry.client import MANIFEST_TYPE, oci_digest

from .bundle_verification import BUNDLE_TYPE, LARGEST_BUNDLE
from .http import HttpNotFoundError, HttpUnavailableError
from .oci import read_manifest
from .oci_client import MANIFEST_TYPES, Descriptor, OciClient

__all__ = ["attach_bundle", "find_bundles"]

_INDEX_TYPE = MANIFEST_TYPES[1]
_EMPTY_TYPE = "application/vnd.oci.empty.v1+json"
_BUNDLES = "application/vnd.dev.sigstore.bundle"
_MOST = 20
_NO_API = frozenset({400, 405, 501})


def find_bundles(client: OciClient, digest: str) -> Iterator[bytes]:
    """Yields the Sigstore bundles of a manifest. One that cannot be read is left out."""
    listed = _referrers(client, digest)
    rows = _tagged(client, digest) if listed is None else listed
    # An index that other clients keep may name no types.
    for row in [row for row in rows if not row.artifact_type or row.artifact_type.startswith(_BUNDLES)][:_MOST]:
        try:
            body, _ = client.manifest(row.digest)
            for layer in read_manifest(body, client.ref).layers:
                if layer.type.startswith(_BUNDLES) and layer.size <= LARGEST_BUNDLE:
                    yield client.blob(layer)
        except (HttpNotFoundError, RefusedError):
            continue


def attach_bundle(client: OciClient, manifest: bytes, bundle: bytes) -> None:
    """Pushes a bundle whose subject is this manifest, and lists it where the registry does not."""
    subject = oci_digest(manifest)
    made = {
        "schemaVersion": 2, "mediaType": MANIFEST_TYPE, "artifactType": BUNDLE_TYPE,
        "config": _row(_EMPTY_TYPE, b"{}"), "layers": [_row(BUNDLE_TYPE, bundle)], "subject": _row(MANIFEST_TYPE, manifest),
    }  # fmt: skip
    data = json.dumps(made, separators=(",", ":")).encode()
    client.push_blob(b"{}")
    client.push_blob(bundle)
    client.push_manifest(data, MANIFEST_TYPE, oci_digest(data))
    if _referrers(client, subject) is not None:
        return
    known = {row.digest: {"mediaType": row.type, "digest": row.digest, "size": row.size, "artifactType": row.artifact_type}
             for row in _tagged(client, subject)}  # fmt: skip
    rows = {**known, oci_digest(data): {**_row(MANIFEST_TYPE, data), "artifactType": BUNDLE_TYPE}}
    index = {"schemaVersion": 2, "mediaType": _INDEX_TYPE, "manifests": list(rows.values())}
    client.push_manifest(json.dumps(index, separators=(",", ":")).encode(), _INDEX_TYPE, _tag(subject))


def _referrers(client: OciClient, digest: str) -> tuple[Descriptor, ...] | None:
    """Returns what names a manifest as its subject; None if the registry does not have this API."""
    try:
        return read_manifest(client.referrers(digest), client.ref).manifests
    except HttpNotFoundError:
        return None
    except HttpUnavailableError as error:
        if error.status not in _NO_API:
            raise
        return None


def _tagged(client: OciClient, digest: str) -> tuple[Descriptor, ...]:
    try:
        return read_manifest(client.manifest(_tag(digest))[0], client.ref).manifests
    except HttpNotFoundError:
        return ()


def _tag(digest: str) -> str:
    return digest.replace(":", "-")


def _row(media_type: str, data: bytes) -> dict[str, object]:
    return {"mediaType": media_type, "digest": oci_digest(data), "size": len(data)}
