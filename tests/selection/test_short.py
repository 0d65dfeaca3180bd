"""Requests of two or three words to a handful of common skills."""

from __future__ import annotations

import pytest

from metier.selection import Selector
from metier.sources import BUNDLED, discover
from metier.sources.selection_index import IndexedSkill


@pytest.fixture(scope="module")
def bundled() -> Selector:
    return Selector([IndexedSkill(entry) for entry in discover(BUNDLED).entries])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plot sales.csv", "data-analysis"),
        ("summarise this csv", "data-analysis"),
        ("review my diff", "code-review"),
        ("is this safe to merge?", "code-review"),
        ("scrape this page", "web-scraping"),
        ("create a skill", "skill-authoring"),
    ],
)
def test_a_few_words_that_fit_activate_a_skill(bundled: Selector, text: str, wanted: str) -> None:
    assert [match.name for match in bundled.select(text)] == [wanted]


@pytest.mark.parametrize(
    "text",
    [
        "fix the bug in login.py",
        "thanks a lot",
        "what is the capital of France",
        "write a poem",
        "send an email",
        "book a flight",
        "tell me a joke",
    ],
)
def test_a_few_words_that_fit_nothing_activate_nothing(bundled: Selector, text: str) -> None:
    assert not bundled.select(text)


def test_a_skill_that_shares_no_word_is_not_activated() -> None:
    [only] = Selector([IndexedSkill(entry) for entry in discover(BUNDLED).entries[:1]]).select("zebra crossing", limit=1)
    assert only.reason == "similar in meaning"
    assert only.confidence < 0.05
