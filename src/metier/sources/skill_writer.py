"""Creates and deletes the folder of a skill in one step, so that no reader ever sees half a skill."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from metier.errors import ConflictError

__all__ = ["delete_skill_folder", "write_skill_folder"]


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


def _exists(folder: str) -> ConflictError:
    return ConflictError(f"{folder} already exists", hint="choose another name, or delete it first")
