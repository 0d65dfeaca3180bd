"""Creates, repairs and deletes the folder of a skill, each in one step: no reader ever sees half a skill."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path

from metier.errors import ConflictError, NotFoundError, RefusedError
from metier.spec import MAX_SKILL_FILE_BYTES, SKILL_FILE, AppliedFix, check, fix_skill_file
from metier.values import dataclass

from .atomic_write import replace_bytes
from .disk_files import DiskFiles
from .source_folders import BUNDLED

__all__ = ["SkillFix", "delete_skill_folder", "fix_skill_folder", "refuse_bundled", "write_skill_folder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFix:
    """The repairs of one SKILL.md, and the number of errors that are left."""

    folder: str
    changes: tuple[AppliedFix, ...] = ()
    diff: str = ""
    errors_left: int = 0


def write_skill_folder(folder: str, files: Mapping[str, bytes]) -> None:
    """Writes a new skill. Raises ConflictError if the folder exists. A failure leaves nothing behind."""
    if os.path.lexists(folder):
        raise _exists(folder)
    above = os.path.dirname(folder)
    os.makedirs(above, exist_ok=True)
    scratch = tempfile.mkdtemp(prefix=".metier-new-", dir=above)
    # Discovery does not enter a folder of this name.
    staged = os.path.join(scratch, ".cache")
    try:
        # Not private like the folder that mkdtemp makes: every agent of the user reads skills.
        os.mkdir(staged, 0o755)
        for path, data in files.items():
            target = Path(staged, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            if path.startswith("scripts/"):
                target.chmod(0o755)
        os.rename(staged, folder)
        os.rmdir(scratch)
    except BaseException as error:
        shutil.rmtree(scratch, ignore_errors=True)
        if isinstance(error, OSError) and os.path.lexists(folder):
            # Another process created it between the check and the rename.
            raise _exists(folder) from error
        raise


def delete_skill_folder(folder: str) -> None:
    scratch = tempfile.mkdtemp(prefix=".metier-deleted-", dir=os.path.dirname(folder))
    try:
        # Discovery does not enter a folder of this name.
        os.rename(folder, os.path.join(scratch, ".Trash"))
    except OSError:
        os.rmdir(scratch)
        raise
    shutil.rmtree(scratch)


def fix_skill_folder(folder: str, *, dry_run: bool = False) -> SkillFix:
    """Repairs mechanical mistakes in SKILL.md. A dry run changes nothing, and does not count the errors that are left.

    Raises RefusedError for a bundled skill.
    """
    refuse_bundled(folder)
    files, name = DiskFiles(folder), os.path.basename(folder)
    try:
        data = files.read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES)
    except (NotFoundError, RefusedError):
        # It is missing or cannot be read, which `metier skill validate` reports.
        return SkillFix(folder=folder, errors_left=1)
    fixed = fix_skill_file(data, folder=name)
    if fixed.data != data and not dry_run:
        replace_bytes(os.path.join(folder, SKILL_FILE), fixed.data)
    old, new = (text.decode("utf-8", "replace").splitlines() for text in (data, fixed.data))
    file = os.path.join(name, SKILL_FILE)
    return SkillFix(
        folder=folder,
        changes=fixed.changes,
        diff="\n".join(unified_diff(old, new, file, file, lineterm="")),
        errors_left=0 if dry_run else len(check(files, folder=name).errors),
    )


def refuse_bundled(folder: str) -> None:
    """Raises RefusedError if the skill is bundled with metier: its files are never changed."""
    if folder.startswith(BUNDLED + os.sep):
        raise RefusedError(
            f"{os.path.basename(folder)} is bundled with metier",
            rule="bundled",
            hint="copy it first: `metier skill create NAME -f FILE`",
        )


def _exists(folder: str) -> ConflictError:
    return ConflictError(f"{folder} already exists", hint="choose another name, or delete it first")
