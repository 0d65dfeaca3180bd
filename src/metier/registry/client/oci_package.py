"""Packs a skill as an OCI artefact, with the checks of an upload to a registry, on this machine."""

from __future__ import annotations

import time
from collections.abc import Mapping

from metier.archive import read_contents
from metier.registry.oci_artifact import ArtifactFacts, OciArtifact, build_artifact
from metier.registry.wire import ReleaseFinding
from metier.values import dataclass

from .checked_skill import check_skill
from .file_selection import SelectedFiles
from .use_cases import PublishOptions

__all__ = ["PackedSkill", "pack_for_oci"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedSkill:
    name: str
    version: str
    """Empty if neither the skill nor the options have one."""
    artifact: OciArtifact
    files: SelectedFiles
    findings: tuple[ReleaseFinding, ...]
    is_refused: bool
    """True for a dry run of a skill that would not be published."""


def pack_for_oci(folder: str, options: PublishOptions, environment: Mapping[str, str]) -> PackedSkill:
    """Raises InvalidSkillError for a skill that cannot be published, unless the options ask for a dry run."""
    checked = check_skill(folder, options)
    admitted, files = checked.admission, checked.files
    facts = ArtifactFacts(
        name=admitted.name, version=admitted.version or "", description=admitted.description, license=admitted.license,
        digest=admitted.digest, created=_created(environment),
    )  # fmt: skip
    return PackedSkill(
        name=admitted.name, version=facts.version, artifact=build_artifact(facts, read_contents(files)), files=files,
        findings=admitted.findings, is_refused=admitted.is_refused,
    )  # fmt: skip


def _created(environment: Mapping[str, str]) -> str:
    """Returns SOURCE_DATE_EPOCH, or 1970: the same files must have the same digest."""
    said = environment.get("SOURCE_DATE_EPOCH", "")
    seconds = int(said) if said.isdecimal() and len(said) <= 11 else 0
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
