"""Publishes a skill to an OCI registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metier.errors import ConflictError, UsageError
from metier.registry.client import MANIFEST_TYPE, PublishOptions, oci_digest, pack_for_oci
from metier.spec import is_version
from metier.values import dataclass, replace

from .fetch.http import HttpNotFoundError
from .fetch.job import Access
from .fetch.oci_client import OciClient
from .refs.ref_types import OciRef

if TYPE_CHECKING:
    from metier.registry.client import PackedSkill

__all__ = ["OciPublishResult", "publish_oci"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OciPublishResult:
    ref: OciRef
    """With the tag and the digest that it has now."""
    skill: PackedSkill
    created: bool
    """False if the tag had the same digest before."""
    dry_run: bool
    signed_by: str = ""
    """The id of the key that signed it."""


def publish_oci(
    folder: str, ref: OciRef, access: Access, options: PublishOptions | None = None, *, signing_key: str | None = None
) -> OciPublishResult:
    """Publishes the skill in `folder`. Raises InvalidSkillError, and ConflictError for a version with other files.

    Without a tag, the tag is the skill's version, and without a version it is `latest`. A tag that is a version never changes;
    other tags move. `signing_key` is a private key from `SigningKeyFile`; the signature is pushed beside the artefact.
    """
    options = options or PublishOptions()
    if ref.digest:
        raise UsageError(f"{ref.text} names a digest, and only a push decides that", hint=f"write {ref.home}[:TAG]")
    access.rules.check(ref.home)
    skill = pack_for_oci(folder, options, access.environment)
    # A tag has no `+`, which versions may have.
    tag = ref.tag or (skill.version or "latest").replace("+", "_")
    ref = replace(ref, tag=tag, digest=oci_digest(skill.artifact.manifest))
    client = OciClient(ref=ref, access=access)
    is_new = skill.is_refused or _is_new(client, ref, tag)
    if is_new and not options.dry_run:
        client.push_blob(skill.artifact.layer)
        client.push_blob(skill.artifact.config)
        client.push_manifest(skill.artifact.manifest, MANIFEST_TYPE, tag)
    signer = "" if signing_key is None or options.dry_run else _sign(client, ref, skill.artifact.manifest, signing_key)
    return OciPublishResult(ref=ref, skill=skill, created=is_new, dry_run=options.dry_run, signed_by=signer)


def _sign(client: OciClient, ref: OciRef, manifest: bytes, private: str) -> str:
    # Imported here: most artefacts are not signed.
    from metier.registry import key_id, public_key

    from .fetch.bundle_verification import sign_digest
    from .fetch.oci_referrers import attach_bundle

    attach_bundle(client, manifest, sign_digest(ref.home.removeprefix("oci://"), oci_digest(manifest), private))
    return key_id(public_key(private))


def _is_new(client: OciClient, ref: OciRef, tag: str) -> bool:
    """Returns False if the tag has this manifest. Raises ConflictError if it is a version and has another."""
    try:
        body, _ = client.manifest(tag)
    except HttpNotFoundError:
        return True
    if oci_digest(body) == ref.digest:
        return False
    if is_version(tag.removeprefix("v").replace("_", "+")):
        raise ConflictError(
            f"{ref.home}:{tag} exists with other files, and a published version never changes",
            hint="raise metadata.version, or pass --version",
        )
    return True
