from __future__ import annotations

from pathlib import Path

import pytest

from install.builders import installed, prepared, store_in
from metier.errors import ConflictError, SkillNotFoundError
from metier.install import remove


def test_a_skill_that_another_depends_on_is_only_removed_by_force(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf"), prepared("report", head="metadata:\n  dependencies: pdf\n"))
    with pytest.raises(ConflictError, match="report depends on pdf"):
        remove(store, ["pdf"])
    assert "pdf" in store.lock()
    assert remove(store, ["pdf"], force=True).names == ("pdf",)
    assert "pdf" not in store.lock()


def test_skills_that_depend_on_each_other_are_removed_together(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf"), prepared("report", head="metadata:\n  dependencies: pdf\n"))
    remove(store, ["pdf", "report"])
    assert not len(store.lock())


def test_a_dry_run_removes_nothing(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf"))
    assert not remove(store, ["pdf"], dry_run=True).done
    assert "pdf" in store.lock()
    with pytest.raises(SkillNotFoundError):
        remove(store, ["docx"])
