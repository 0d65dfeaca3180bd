"""Creates, repairs and deletes the folder of a skill, each in one step: no reader ever sees half a skill."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from difflib import unified_diff

from metier.errors import ConflictError, NotFoundError, RefusedError
from metier.spec import MAX_SKILL_FILE_BYTES, SKILL_FILE, AppliedFix, check, fix_skill_file
from metier.values import dataclass

from .atomic_write import replace_bytes
from .disk_files import DiskFiles
from .project_paths import inner_folder
from .source_folders import BUNDLED

__all__ = ["SkillFix", "delete_skill_folder", "fix_skill_folder", "refuse_bundled", "write_skill_folder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFix:
    """The repairs of one SKILL.md, and the number of errors that are left."""

    folder: str
    changes: tuple[AppliedFix, ...] = ()
    diff: str = ""
    errors_left: int = 0


def write_skill_folder(folder: str, files: Mapping[str, bytes], *, inside: str | None = None) -> None:
    """Writes a new skill. Raises ConflictError if the folder exists. A failure leaves nothing behind.

    `inside` is the project that no link may leave.
    """
    if os.path.lexists(folder):
        raise _exists(folder)
    above, name = os.path.split(folder)
    with inner_folder(above, inside=inside, create=True) as parent:
        scratch = _make_scratch(".metier-new-", parent)
        try:
            # Discovery does not enter a folder of this name. Not private like scratch: every agent of the user reads skills.
            os.mkdir(f"{scratch}/.cache", 0o755, dir_fd=parent)
            for path, data in files.items():
                _write_new(f"{scratch}/.cache/{path}", data, parent)
            os.rename(f"{scratch}/.cache", name, src_dir_fd=parent, dst_dir_fd=parent)
            os.rmdir(scratch, dir_fd=parent)
        except BaseException as error:
            shutil.rmtree(scratch, ignore_errors=True, dir_fd=parent)
            if isinstance(error, OSError) and os.path.lexists(folder):
                # Another process created it between the check and the rename.
                raise _exists(folder) from error
            raise


def delete_skill_folder(folder: str, *, inside: str | None = None) -> None:
    """Deletes a skill. `inside` is the project that no link may leave."""
    above, name = os.path.split(folder)
    with inner_folder(above, inside=inside) as parent:
        scratch = _make_scratch(".metier-deleted-", parent)
        try:
            # Discovery does not enter a folder of this name.
            os.rename(name, f"{scratch}/.Trash", src_dir_fd=parent, dst_dir_fd=parent)
        except OSError:
            os.rmdir(scratch, dir_fd=parent)
            raise
        shutil.rmtree(scratch, dir_fd=parent)


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
        replace_bytes(os.path.join(folder, SKILL_FILE), fixed.data, inside=folder)
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


def _make_scratch(prefix: str, parent: int) -> str:
    while True:
        name = prefix + os.urandom(8).hex()
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
            return name


def _write_new(path: str, data: bytes, parent: int) -> None:
    folder = os.path.dirname(path)
    for end in [match.start() for match in re.finditer("/", folder)] + [len(folder)]:
        with suppress(FileExistsError):
            os.mkdir(folder[:end], 0o755, dir_fd=parent)
    mode = 0o755 if "/.cache/scripts/" in path else 0o644
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=parent)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)


def _exists(folder: str) -> ConflictError:
    return ConflictError(f"{folder} already exists", hint="choose another name, or delete it first")
