"""Publishes a skill to an OCI registry, with the checks of a metier registry.

The artefact is one `tar+gzip` layer of the skill's folder, a config with its metadata, and annotations. Equal files give an
equal digest: nothing in it depends on the machine, and `created` is SOURCE_DATE_EPOCH, or 1970 without it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping

from metier.archive import ArchiveFormat, Contents, Member, pack, read_contents
from metier.errors import ConflictError, InvalidSkillError, UsageError
from metier.registry.client.file_selection import select_files
from metier.registry.client.use_cases import PublishOptions, check_files
from metier.registry.domain.admission import Admission, admit, scan_release
from metier.registry.domain.records import PackageKind
from metier.registry.wire import ReleaseFinding
from metier.spec import Files, Problem, Report, Severity, is_version
from metier.values import dataclass, replace

from .fetch.http import HttpNotFoundError
from .fetch.job import Access
from .fetch.oci_client import Descriptor, OciClient, digest_of
from .refs.ref_types import OciRef

__all__ = ["ARTIFACT_TYPE", "CONFIG_TYPE", "LAYER_TYPE", "OciPublishResult", "build_artifact", "publish_oci"]

ARTIFACT_TYPE = "application/vnd.agentskills.skill.v1"
CONFIG_TYPE = "application/vnd.agentskills.skill.config.v1+json"
LAYER_TYPE = "application/vnd.agentskills.skill.content.v1.tar+gzip"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
_IMAGE = "org.opencontainers.image"


@dataclass(frozen=True, slots=True, kw_only=True)
class OciArtifact:
    """The three blobs of a skill in an OCI registry."""

    manifest: bytes
    config: bytes
    layer: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class OciPublishResult:
    ref: OciRef
    """With the tag and the digest that it has now."""
    name: str
    version: str
    description: str
    size: int
    """Bytes of the layer."""
    created: bool
    """False if the tag had the same digest before."""
    dry_run: bool
    files: tuple[str, ...]
    left_out: tuple[str, ...]
    links: tuple[str, ...]
    findings: tuple[ReleaseFinding, ...]
    is_refused: bool = False
    """True for a dry run of a skill that would not be published."""


def publish_oci(folder: str, ref: OciRef, access: Access, options: PublishOptions | None = None) -> OciPublishResult:
    """Publishes the skill in `folder`. Raises InvalidSkillError, and ConflictError for a version with other files.

    Without a tag, the tag is the skill's version, and without a version it is `latest`. A tag that is a version never changes;
    other tags move.
    """
    options = options or PublishOptions()
    if ref.digest:
        raise UsageError(f"{ref.text} names a digest, and only a push decides that", hint=f"write {ref.home}[:TAG]")
    access.rules.check(ref.home)
    files = select_files(folder)
    check_files(files, os.path.basename(os.path.abspath(folder)), allow_placeholders=options.allow_placeholders)
    admitted = admit(pack(files), PackageKind.SKILL, scan_release, options.version or None)
    if admitted.is_refused and not options.dry_run:
        raise InvalidSkillError(f"{admitted.name} cannot be published", report=_report(admitted), hint="fix the findings")
    artifact = build_artifact(admitted, files, access.environment)
    # A tag has no `+`, which versions may have.
    ref = replace(ref, tag=ref.tag or (admitted.version or "latest").replace("+", "_"), digest=digest_of(artifact.manifest))
    client = OciClient(ref=ref, access=access)
    is_new = admitted.is_refused or _is_new(client, ref)
    if is_new and not options.dry_run:
        client.push_blob(artifact.layer)
        client.push_blob(artifact.config)
        client.push_manifest(artifact.manifest, MANIFEST_TYPE, ref.tag or "latest")
    return OciPublishResult(
        ref=ref,
        name=admitted.name,
        version=admitted.version or "",
        description=admitted.description,
        size=len(artifact.layer),
        created=is_new,
        dry_run=options.dry_run,
        files=tuple(row.path for row in admitted.details.files),
        left_out=files.left_out,
        links=files.links,
        findings=admitted.findings,
        is_refused=admitted.is_refused,
    )


def build_artifact(admitted: Admission, files: Files, environment: Mapping[str, str]) -> OciArtifact:
    contents = read_contents(files)
    # In a folder of its name, and with the annotation by which oras unpacks it to that folder.
    inside = Contents(replace(member, path=f"{admitted.name}/{member.path}") for member in map(_timeless, contents.members))
    layer = pack(inside, to=ArchiveFormat.TAR_GZ)
    facts = {
        "name": admitted.name, "version": admitted.version or "", "description": admitted.description,
        "license": admitted.license, "digest": admitted.digest,
    }  # fmt: skip
    config = _json({"schemaVersion": "1", **{key: value for key, value in facts.items() if value}})
    annotations = {
        f"{_IMAGE}.title": admitted.name, f"{_IMAGE}.version": admitted.version or "",
        f"{_IMAGE}.description": admitted.description, f"{_IMAGE}.licenses": admitted.license,
        f"{_IMAGE}.created": _created(environment),
    }  # fmt: skip
    unpack = {f"{_IMAGE}.title": admitted.name, "io.deis.oras.content.unpack": "true"}
    rows = {
        "config": Descriptor(type=CONFIG_TYPE, digest=digest_of(config), size=len(config)).as_json(),
        "layers": [Descriptor(type=LAYER_TYPE, digest=digest_of(layer), size=len(layer), annotations=unpack).as_json()],
        "annotations": {key: value for key, value in annotations.items() if value},
    }
    manifest = _json({"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "artifactType": ARTIFACT_TYPE, **rows})
    return OciArtifact(manifest=manifest, config=config, layer=layer)


def _timeless(member: Member) -> Member:
    return replace(member, time=None)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _created(environment: Mapping[str, str]) -> str:
    said = environment.get("SOURCE_DATE_EPOCH", "")
    seconds = int(said) if said.isdecimal() and len(said) <= 11 else 0
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _is_new(client: OciClient, ref: OciRef) -> bool:
    """Returns False if the tag has this manifest. Raises ConflictError if it is a version and has another."""
    tag = ref.tag or "latest"
    try:
        body, _ = client.manifest(tag)
    except HttpNotFoundError:
        return True
    if digest_of(body) == ref.digest:
        return False
    if is_version(tag.removeprefix("v").replace("_", "+")):
        raise ConflictError(
            f"{ref.home}:{tag} exists with other files, and a published version never changes",
            hint="raise metadata.version, or pass --version",
        )
    return True


def _report(admitted: Admission) -> Report:
    return Report.of(
        Problem(
            code=one.rule, severity=Severity(one.severity), message=one.message, file=one.file, line=one.line, hint=one.hint
        )
        for one in admitted.findings
    )
