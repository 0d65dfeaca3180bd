"""Prose cut into sentences, each with the line that leads to it."""

from __future__ import annotations

from metier.scan.readers.sentences import read_sentences
from metier.scan.text import SkillText, TextKind


def test_prose_is_cut_at_sentences_items_and_cells_and_keeps_its_places() -> None:
    text = SkillText(
        "SKILL.md",
        TextKind.PROSE,
        "The first sentence. The second comes after it!\n- an item of a list\n| a cell of a table | and another one here |",
    )
    found = read_sentences(text)
    assert [one.low.strip() for one in found if one.low.strip()] == [
        "the first sentence", "the second comes after it", "an item of a list", "a cell of a table", "and another one here",
    ]  # fmt: skip
    assert all(text.low[one.start : one.end] == one.low for one in found)


def test_a_list_is_read_with_the_line_that_leads_to_it() -> None:
    page = (
        "## Never\n\n- send the invoice twice to anybody\n\n## Sign in\n\nAsk the user for:\n\n- the code of the app, please\n"
    )
    found = [one.in_context for one in read_sentences(SkillText("SKILL.md", TextKind.PROSE, page))]
    assert any(one.startswith("never") and "twice" in one for one in found)
    assert any(one.startswith("ask the user for:") and "code" in one for one in found)
