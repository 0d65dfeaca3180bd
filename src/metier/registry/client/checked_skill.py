"""The checks of an upload, on this machine: for registries that do not have them."""

from __future__ import annotations

import os

from metier.archive import pack
from metier.errors import InvalidSkillError
from metier.registry.domain.admission import Admission, admit, scan_release
from metier.registry.domain.publish import report_of
from metier.registry.domain.records import PackageKind
from metier.values import dataclass

from .file_selection import SelectedFiles, select_files
from .use_cases import PublishOptions, check_files

__all__ = ["CheckedSkill", "check_skill"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSkill:
    admission: Admission
    files: SelectedFiles


def check_skill(folder: str, options: PublishOptions) -> CheckedSkill:
    """Raises InvalidSkillError for a skill that cannot be published, unless the options ask for a dry run."""
    files = select_files(folder)
    check_files(files, os.path.basename(os.path.abspath(folder)), allow_placeholders=options.allow_placeholders)
    admission = admit(pack(files), PackageKind.SKILL, scan_release, options.version or None)
    if admission.is_refused and not options.dry_run:
        raise InvalidSkillError(
            f"{admission.name} cannot be published", report=report_of(admission.findings), hint="fix the findings"
        )
    return CheckedSkill(admission=admission, files=files)
