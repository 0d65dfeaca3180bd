"""Creating, repairing and deleting the folder of a skill."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from metier.errors import ConflictError, RefusedError
from metier.sources import BUNDLED, delete_skill_folder, fix_skill_folder, write_skill_folder

BROKEN = b"---\nname: Wrong\ndescription: Reads PDFs. Use when asked.\n---\n"


def test_a_skill_is_written_once_and_deleted(tmp_path: Path) -> None:
    folder = str(tmp_path / "pdf")
    write_skill_folder(folder, {"SKILL.md": BROKEN, "scripts/run.py": b""})
    with pytest.raises(ConflictError):
        write_skill_folder(folder, {"SKILL.md": b""})
    assert os.access(os.path.join(folder, "scripts/run.py"), os.X_OK)
    delete_skill_folder(folder)
    assert os.listdir(tmp_path) == []


def test_a_repair_returns_its_changes_and_a_diff(tmp_path: Path) -> None:
    folder = tmp_path / "pdf"
    write_skill_folder(str(folder), {"SKILL.md": BROKEN})
    planned = fix_skill_folder(str(folder), dry_run=True)
    assert (folder / "SKILL.md").read_bytes() == BROKEN
    done = fix_skill_folder(str(folder))
    assert planned == done
    assert "+name: pdf" in done.diff
    assert [change.line for change in done.changes] == [2]
    assert (folder / "SKILL.md").read_bytes() == BROKEN.replace(b"Wrong", b"pdf")
    assert fix_skill_folder(str(folder)).changes == ()


def test_a_missing_file_counts_as_an_error(tmp_path: Path) -> None:
    assert fix_skill_folder(str(tmp_path)).errors_left == 1


def test_a_bundled_skill_is_refused() -> None:
    with pytest.raises(RefusedError, match="bundled"):
        fix_skill_folder(os.path.join(BUNDLED, "hello-world"))
