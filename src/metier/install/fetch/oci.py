"""Fetches skills from an OCI registry: `oci://HOST/REPOSITORY[:TAG|@DIGEST]`.

The drafts in use differ in their media types, and agree on this: a manifest lists layers, and a layer is a tar+gzip of the
skill's folder, or one file that its annotation `org.opencontainers.image.title` names. Both are read, whatever the types are
called; plain container images too, with their layers on top of each other. An index leads to its skills, or to one of the
equal images for several platforms. Manifests and layers are checked by digest and size.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from metier.archive import REPOSITORY_LIMITS, Contents, Link, Member, sniff_format, strip_top_folder, unpack
from metier.errors import RefusedError, SkillNotFoundError
from metier.install.lock.lock_file import Origin
from metier.install.protocols import Fetched
from metier.install.refs.ref_types import OciRef
from metier.registry.client import oci_digest
from metier.spec import SKILL_FILE, is_name, is_version
from metier.values import dataclass, replace

from .http import HttpNotFoundError
from .job import FetchJob, FetchStage
from .oci_client import Descriptor, OciClient
from .signature_policy import SignaturePolicy
from .tree import ContentsTree
from .web import LARGEST_ARCHIVE

__all__ = ["fetch_oci", "read_manifest"]

TITLE = "org.opencontainers.image.title"
_VERSION = ("org.opencontainers.image.version", "org.agent.skill.version", "io.agentskills.skill.version")
_UNPACK = "io.deis.oras.content.unpack"
_ATTESTATION = "vnd.docker.reference.type"
_MOST_LAYERS = 500
_MOST_SKILLS = 100
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"


@dataclass(frozen=True, slots=True, kw_only=True)
class OciManifest:
    """A manifest or an index, as far as it is needed here."""

    annotations: Mapping[str, str]
    layers: tuple[Descriptor, ...] = ()
    manifests: tuple[Descriptor, ...] = ()
    """Of an index."""


def fetch_oci(ref: OciRef, job: FetchJob) -> Fetched:
    job.report(FetchStage.ASKING)
    client = OciClient(ref=ref, access=job.access, received=job.received)
    try:
        body, _ = client.manifest(ref.reference)
    except HttpNotFoundError as error:
        raise SkillNotFoundError(
            ref.text, hint=f"{ref.host} has no {ref.repository}:{ref.reference}, or shows it only after a login ({error})"
        ) from error
    top, digest = read_manifest(body, ref), oci_digest(body)
    version = next((text for key in _VERSION if is_version(text := top.annotations.get(key, ""))), "")
    origin = Origin(kind="oci", url=ref.home, ref=ref.digest or ref.tag or "", commit=digest, version=version)
    key = f"{ref.home}@{digest}"
    fetched = job.recalled(key, origin=origin)
    if fetched is None:
        job.report(FetchStage.FETCHING)
        fetched = job.from_tree(ContentsTree(_contents(client, top, ref)), origin, key=key)
    job.remember_ref(key, origin)
    if policies := job.access.signature_policies(origin):
        fetched = _with_signers(fetched, body, policies, client)
    # `created` is the author's word, and no registry states when a tag was moved, so the first sight counts.
    return job.dated(fetched, None, digest)


def _with_signers(fetched: Fetched, body: bytes, policies: Iterable[SignaturePolicy], client: OciClient) -> Fetched:
    """Returns the skills with the signers of the artefact, for each policy that accepts one."""
    # Imported here: most sources demand no signature.
    from .bundle_verification import SignatureError, verify_digest
    from .oci_referrers import find_bundles
    from .skill_signatures import remember_signer

    access, signers, problem = client.access, dict[str, str](), ""
    for bundle in find_bundles(client, oci_digest(body)):
        for policy in policies:
            try:
                signers.setdefault(policy.key, verify_digest(bundle, body, policy, access.environment))
            except SignatureError as error:
                problem = str(error)
    for skill in fetched.skills:
        for policy in policies:
            if signer := signers.get(policy.key):
                remember_signer(access.cache, skill.digest, policy, signer)
    return replace(
        fetched, skills=tuple(replace(one, bundle_signers=signers, bundle_problem=problem) for one in fetched.skills)
    )


def read_manifest(body: bytes, ref: OciRef) -> OciManifest:
    """Reads a manifest or an index. Raises RefusedError."""
    try:
        value: Any = json.loads(body)  # Any: untrusted JSON
        rows = {name: value.get(name) or [] for name in ("layers", "manifests")}
        return OciManifest(
            annotations=_texts(value.get("annotations")), layers=tuple(map(_descriptor, rows["layers"])),
            manifests=tuple(map(_descriptor, rows["manifests"])),
        )  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise RefusedError(
            f"the manifest of {ref.text} cannot be read: {str(error)[:80]}", rule="oci-manifest", hint="check the address"
        ) from error


def _descriptor(row: Any) -> Descriptor:  # Any: untrusted JSON
    digest, size = row["digest"], row["size"]
    if not isinstance(digest, str) or not digest.startswith("sha256:") or len(digest) != 71 or not digest[7:].isalnum():
        raise ValueError("a digest is not sha256:…")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise ValueError("a size is not a number")
    return Descriptor(
        type=str(row.get("mediaType", "")), digest=digest, size=size, artifact_type=str(row.get("artifactType") or ""),
        annotations=_texts(row.get("annotations")),
    )  # fmt: skip


def _texts(value: object) -> dict[str, str]:
    rows = value.items() if isinstance(value, dict) else ()
    return {str(key): text for key, text in rows if isinstance(text, str)}


def _contents(client: OciClient, top: OciManifest, ref: OciRef) -> Contents:
    if not top.manifests:
        return strip_top_folder(_files(client, top.layers, ref), limits=REPOSITORY_LIMITS)
    chosen = _of_index(top.manifests)
    if not chosen:
        raise SkillNotFoundError(ref.text, hint="its index lists no skill")
    every = [read_manifest(client.manifest(one.digest)[0], ref) for one in chosen]
    _check_size([layer for one in every for layer in one.layers], ref)
    found = [strip_top_folder(_files(client, one.layers, ref), limits=REPOSITORY_LIMITS) for one in every]
    if len(found) == 1:
        return found[0]
    names = [_folder(descriptor, one, place) for place, (descriptor, one) in enumerate(zip(chosen, every, strict=True))]
    return Contents(
        [Member(f"{name}/{one.path}", one.data, one.executable, one.time)
         for name, files in zip(names, found, strict=True) for one in files.members],
        [Link(f"{name}/{one.path}", one.target) for name, files in zip(names, found, strict=True) for one in files.links],
        limits=REPOSITORY_LIMITS,
    )  # fmt: skip


def _of_index(listed: Sequence[Descriptor]) -> tuple[Descriptor, ...]:
    """Returns the skills of an index; without any that says so, the first image, because platforms have the same files."""
    skills = tuple(one for one in listed if "skill" in one.artifact_type)
    if skills:
        return skills[:_MOST_SKILLS]
    return tuple(one for one in listed if _ATTESTATION not in one.annotations)[:1]


def _folder(descriptor: Descriptor, manifest: OciManifest, place: int) -> str:
    name = descriptor.annotations.get(TITLE) or manifest.annotations.get(TITLE) or ""
    return name if is_name(name) else f"skill-{place + 1}"


def _check_size(layers: Sequence[Descriptor], ref: OciRef) -> None:
    if sum(layer.size for layer in layers) > LARGEST_ARCHIVE or len(layers) > _MOST_LAYERS:
        raise RefusedError(
            f"{ref.text} is larger than {LARGEST_ARCHIVE:,} bytes or {_MOST_LAYERS} layers",
            rule="download-size",
            hint="name an artefact that is one skill",
        )


def _files(client: OciClient, layers: Sequence[Descriptor], ref: OciRef) -> Contents:
    """Returns the files of an artefact: its layers on top of each other."""
    _check_size(layers, ref)
    is_by_file = any(f"/{layer.annotations.get(TITLE, '')}".endswith(f"/{SKILL_FILE}") for layer in layers)
    files: dict[str, Member | Link] = {}
    for layer in layers:
        data, title = client.blob(layer), layer.annotations.get(TITLE, "")
        is_file = bool(title) and _UNPACK not in layer.annotations and (is_by_file or not sniff_format(data))
        if not is_file and not sniff_format(data):
            raise RefusedError(
                f"a layer of {ref.text} is neither a tar+gzip nor a named file: {layer.type[:80]!r}", rule="oci-layer",
                hint="name an artefact that is a skill",
            )  # fmt: skip
        _put(files, [Member(title, data)] if is_file else _unpacked(data))
    if not files:
        raise SkillNotFoundError(ref.text, hint="the artefact has no layers with files")
    return Contents(
        [one for one in files.values() if isinstance(one, Member)],
        [one for one in files.values() if isinstance(one, Link)],
        limits=REPOSITORY_LIMITS,
    )


def _unpacked(data: bytes) -> Iterator[Member | Link]:
    contents = unpack(data, limits=REPOSITORY_LIMITS)
    yield from contents.members
    yield from contents.links


def _put(files: dict[str, Member | Link], layer: Iterable[Member | Link]) -> None:
    """Adds a layer. A file `.wh.NAME` deletes what the layers below have there, as in a container image."""
    more = list(layer)
    for one in more:
        folder, _, name = one.path.rpartition("/")
        if name.startswith(_WHITEOUT):
            gone = folder if name == _OPAQUE else f"{folder}/{name.removeprefix(_WHITEOUT)}".lstrip("/")
            for path in [path for path in files if path == gone or path.startswith(f"{gone}/" if gone else "")]:
                del files[path]
    files.update({one.path: one for one in more if not one.path.rpartition("/")[2].startswith(_WHITEOUT)})
