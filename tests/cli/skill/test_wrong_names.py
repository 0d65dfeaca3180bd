"""A skill or a folder that cannot be used is named with its reason, never reported as missing."""

from __future__ import annotations

from pathlib import Path

import pytest

import metier
from cli.shell import Shell


@pytest.mark.parametrize("words", [("show", "broken"), ("activate", "broken"), ("run", "broken", "scripts/x.py")])
def test_an_invalid_skill_is_reported_with_its_problem(shell: Shell, words: tuple[str, ...]) -> None:
    shell.skill("broken", data=b"---\nname: broken\n---\nText.\n")
    ran = shell("skill", *words)
    assert "there is no description" in ran.out + ran.err
    assert "no skill is named" not in ran.out + ran.err


@pytest.mark.parametrize("verb", ["update", "remove"])
def test_a_bundled_skill_is_not_updated_or_removed_and_says_so(shell: Shell, verb: str) -> None:
    ran = shell("skill", verb, "gh")
    assert ran.code == 5
    assert ran.err.startswith("error: gh is bundled with metier")


def test_a_folder_of_skills_that_does_not_exist_is_an_error(shell: Shell, tmp_path: Path) -> None:
    named = shell("skill", "list", "--skills-dir", "nosuch")
    assert (named.code, "nosuch (from --skills-dir)" in named.err) == (3, True)
    with pytest.raises(metier.NotFoundError, match="no such folder"):
        metier.discover(tmp_path / "nosuch")


def test_columns_of_a_listing_are_separated(shell: Shell, tmp_path: Path) -> None:
    for version in ("1.0.0", "1.1.0"):
        shell.skill("alpha", root=tmp_path / "source", head=f"metadata:\n  version: {version}")
        done = shell("skill", "update", "-y") if version == "1.1.0" else shell("skill", "install", str(tmp_path / "source"))
        done.ok()
    assert "alpha 1.0.0 -> 1.1.0: " in done.out
    assert "alpha (plugin, enabled)" in shell("skill", "manage", "list").out
