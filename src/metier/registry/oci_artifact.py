"""A skill as an OCI artefact, as the Agent Skills drafts have it: one tar+gzip layer, a config and a manifest.

Equal input gives equal bytes, so that a digest means the same on every machine.
"""

from __future__ import annotations

import hashlib
import json

from metier.archive import ArchiveFormat, Contents, pack
from metier.values import dataclass, replace

__all__ = [
    "ARTIFACT_TYPE",
    "CONFIG_TYPE",
    "LAYER_TYPE",
    "MANIFEST_TYPE",
    "ArtifactFacts",
    "OciArtifact",
    "build_artifact",
    "oci_digest",
]

ARTIFACT_TYPE = "application/vnd.agentskills.skill.v1"
CONFIG_TYPE = "application/vnd.agentskills.skill.config.v1+json"
LAYER_TYPE = "application/vnd.agentskills.skill.content.v1.tar+gzip"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
_IMAGE = "org.opencontainers.image"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactFacts:
    """The metadata of an artefact."""

    name: str
    version: str
    description: str
    license: str
    digest: str
    """The digest of the skill's files, as in a lock."""
    created: str
    """In ISO 8601."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OciArtifact:
    """The three blobs of a skill in an OCI registry."""

    manifest: bytes
    config: bytes
    layer: bytes


def oci_digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def build_artifact(facts: ArtifactFacts, contents: Contents, *, level: int = 6) -> OciArtifact:
    """Returns the artefact. With level 0 the layer is not compressed, and its digest depends on no version of zlib."""
    # In a folder of its name, and with the annotation by which oras unpacks it to that folder.
    inside = Contents(replace(member, path=f"{facts.name}/{member.path}", time=None) for member in contents.members)
    layer = pack(inside, to=ArchiveFormat.TAR_GZ, level=level)
    named = {"name": facts.name, "version": facts.version, "description": facts.description, "license": facts.license}
    config = _json({"schemaVersion": "1", **{key: value for key, value in named.items() if value}, "digest": facts.digest})
    annotations = {
        f"{_IMAGE}.title": facts.name, f"{_IMAGE}.version": facts.version, f"{_IMAGE}.description": facts.description,
        f"{_IMAGE}.licenses": facts.license, f"{_IMAGE}.created": facts.created,
    }  # fmt: skip
    unpack = {f"{_IMAGE}.title": facts.name, "io.deis.oras.content.unpack": "true"}
    manifest = {
        "schemaVersion": 2, "mediaType": MANIFEST_TYPE, "artifactType": ARTIFACT_TYPE,
        "config": _descriptor(CONFIG_TYPE, config), "layers": [{**_descriptor(LAYER_TYPE, layer), "annotations": unpack}],
        "annotations": {key: value for key, value in annotations.items() if value},
    }  # fmt: skip
    return OciArtifact(manifest=_json(manifest), config=config, layer=layer)


def _descriptor(media_type: str, data: bytes) -> dict[str, object]:
    return {"mediaType": media_type, "digest": oci_digest(data), "size": len(data)}


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
