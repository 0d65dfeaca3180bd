"""Checks that a fetched skill has the signature that its source demands, before anything is installed.

Every way to a skill leads through here: a ref, an update, a restore. The policy of each source counts whose address is above
the skill's, in whatever form that was typed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from metier.archive import Contents
from metier.errors import RefusedError
from metier.install.lock.lock_file import Origin
from metier.install.protocols import FetchedSkill
from metier.install.refs.source_rules import is_below
from metier.values import replace

from .signature_policy import SignaturePolicy

if TYPE_CHECKING:
    from .cache import SkillCache
    from .credentials import RegistrySource
    from .job import Access

__all__ = ["check_signatures", "policies_for", "remember_signer", "unsigned"]


def policies_for(origin: Origin, sources: Iterable[RegistrySource]) -> tuple[SignaturePolicy, ...]:
    """Returns the policies that a skill of this origin must fulfil."""
    found = [source for source in sources if is_below(origin.url, source.url)]
    if origin.kind != "oci":
        return tuple(source.signature for source in found if source.signature)
    # The keys of a metier registry are for its releases, and for artefacts elsewhere.
    with_keys = (replace(source.signature or SignaturePolicy(source=source.name), public=source.keys) for source in found)
    return tuple(policy for policy in with_keys if policy.key)


def check_signatures(skill: FetchedSkill, policies: Iterable[SignaturePolicy], access: Access) -> FetchedSkill:
    """Returns the skill with its signers. Raises RefusedError if a policy is not fulfilled."""
    signers = [_signer(skill, policy, access) for policy in policies]
    return replace(skill, signed_by=tuple(dict.fromkeys(signers)))


def remember_signer(cache: SkillCache | None, digest: str, policy: SignaturePolicy, signer: str) -> None:
    """Records a signature that is beside the files, as in an OCI registry, for when they come from the cache."""
    if cache:
        cache.remember(_key(digest, policy), {"signer": signer})


def unsigned(name: str, policy: SignaturePolicy, why: str) -> RefusedError:
    return RefusedError(
        f"{name} is refused: {why}", rule="signature", hint=f"ask its author for a signature, or change {policy.table}"
    )


def _signer(skill: FetchedSkill, policy: SignaturePolicy, access: Access) -> str:
    # Imported here: most sources demand no signature.
    from .bundle_verification import SIGNATURE_FILE, SignatureError, verify_files

    if signer := skill.bundle_signers.get(policy.key):
        return signer
    known = access.cache.recall(_key(skill.digest, policy)) if access.cache and skill.origin.kind == "oci" else None
    if known:
        return str(known.get("signer"))
    files = skill.files
    if not isinstance(files, Contents) or SIGNATURE_FILE not in {member.path for member in files.members}:
        raise unsigned(skill.name, policy, skill.bundle_problem or f"it has no signature, and {policy.table} demands one")
    try:
        return verify_files(files, policy, access.environment)
    except SignatureError as error:
        raise unsigned(skill.name, policy, str(error)) from error


def _key(digest: str, policy: SignaturePolicy) -> str:
    return f"signed {digest} {policy.key}"
