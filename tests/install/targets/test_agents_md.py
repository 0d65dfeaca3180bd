from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.errors import ConflictError
from metier.install.targets.agents_md import BEGIN, END, with_skills, write_agents_md

PDF = ("pdf", "Reads PDF files. Use when asked.", ".agents/skills/pdf/SKILL.md")


def test_a_list_is_added_below_what_its_owner_wrote() -> None:
    text = with_skills("# Rules\n\nBe kind.\n", [PDF])
    assert text.startswith("# Rules\n\nBe kind.\n\n" + BEGIN)
    assert "**pdf** (.agents/skills/pdf/SKILL.md): Reads PDF files. Use when asked." in text
    assert text.endswith(END + "\n")


def test_the_list_is_replaced_in_place_and_removed_with_the_last_skill() -> None:
    text = with_skills("above\n", [PDF]) + "below\n"
    changed = with_skills(text, [("docx", "Writes.", "d/SKILL.md")])
    assert "pdf" not in changed
    assert (changed.startswith("above\n"), changed.endswith("below\n")) == (True, True)
    assert with_skills(changed, []) == "above\nbelow\n"
    assert with_skills("above\n", []) == "above\n"


@given(st.text(), st.text(st.characters(codec="utf-8"), max_size=60))
def test_writing_it_again_changes_nothing_whatever_a_skill_says(before: str, description: str) -> None:
    if "metier:skills" in before:
        return
    once = with_skills(before, [("pdf", description + END, "x/SKILL.md")])
    assert with_skills(once, [("pdf", description + END, "x/SKILL.md")]) == once
    assert once.count(f"\n{END}") == 1


@pytest.mark.parametrize("text", [f"{BEGIN}\n", f"{END}\n", f"{END}\n{BEGIN}\n", f"{BEGIN}\n{BEGIN}\n{END}\n{END}\n"])
def test_marks_that_do_not_match_are_for_a_person(text: str) -> None:
    with pytest.raises(ConflictError):
        with_skills(text, [PDF])


def test_a_file_that_is_not_utf_8_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_bytes(b"\xff\xfe")
    with pytest.raises(ConflictError, match="not UTF-8"):
        write_agents_md(str(tmp_path), [], lock_file=str(tmp_path / "lock"))
    assert (tmp_path / "AGENTS.md").read_bytes() == b"\xff\xfe"
