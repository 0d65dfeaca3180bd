"""An index that is opened with a function: skills are looked up for results only."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from metier.selection import Selector


@dataclass(frozen=True)
class Plain:
    id: str
    name: str
    description: str


SKILLS = {
    one.id: one
    for one in (
        Plain("a", "fill-forms", "Fills in PDF forms and merges PDF files."),
        Plain("bb", "invoice-writer", "Writes invoices for customers."),
        Plain("cc", "sql-tuner", "Speeds up slow SQL queries with indexes and query plans."),
        *(Plain(f"more-{number}", f"more-{number}", f"Task number {number} about gardens.") for number in range(200)),
    )
}


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def opened(asked: list[str]) -> Selector:
    def find(skill_id: str) -> Plain:
        asked.append(skill_id)
        return SKILLS[skill_id]

    return Selector.from_buffer(Selector(SKILLS.values()).index_bytes(), find)


def test_it_selects_the_same_as_the_selector_that_it_was_saved_from(opened: Selector) -> None:
    whole = Selector(SKILLS.values())
    for request in ("merge these PDF files", "speed up the slow SQL query", "use more-17 for this", "gardens"):
        expected = [(match.id, match.score) for match in whole.select(request, 9, recent=["cc"], prior={"bb": 0.3})]
        assert [(match.id, match.score) for match in opened.select(request, 9, recent=["cc"], prior={"bb": 0.3})] == expected


def test_only_results_are_looked_up(opened: Selector, asked: list[str]) -> None:
    assert len(opened) == len(SKILLS) and "cc" in opened and "dd" not in opened
    assert asked == []
    assert [match.name for match in opened.select("speed up the slow SQL query")] == ["sql-tuner"]
    assert len(asked) < 20
    assert not opened.is_changed


def test_it_can_be_changed_and_saved(opened: Selector) -> None:
    opened.remove("cc")
    opened.change(Plain("bb", "invoice-writer", "Speeds up slow SQL queries."))
    opened.add(Plain("dd", "bread-baker", "Bakes bread with flour."))
    assert [match.id for match in opened.select("speed up the slow SQL query")] == ["bb"]
    again = Selector.from_buffer(opened.index_bytes(), {**SKILLS, "dd": Plain("dd", "bread-baker", "")}.__getitem__)
    assert len(again) == len(SKILLS)
    assert [match.id for match in again.select("bake bread")] == ["dd"]
    with pytest.raises(KeyError):
        opened.remove("cc")
