"""Skills that are not installed: which words leave the machine, and how the candidates are ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from metier.errors import UnavailableError
from metier.selection import AvailableSkill, LlmSelector, MatchDecision, Selector, SelectorOptions, install_command
from metier.selection.recall import search_words
from metier.selection.trained_data import load_trained_data

REQUEST = "merge these two PDF files into one document, please"


@dataclass(frozen=True)
class Installed:
    id: str
    name: str
    description: str


INVOICES = Installed("1", "invoice-writer", "Writes invoices for customers. Not for contracts.")


class Shelf:
    """Offers these skills, and keeps what it was asked for."""

    def __init__(self, *skills: AvailableSkill) -> None:
        self.skills = skills
        self.asked: list[str] = []

    def __call__(self, words: str, limit: int) -> Sequence[AvailableSkill]:
        self.asked.append(words)
        return self.skills[:limit]


def offer(name: str, description: str) -> AvailableSkill:
    return AvailableSkill(id=f"r9s:{name}", name=name, description=description, install=f"metier skill install r9s:{name}")


MERGE = offer("pdf-merger", "Merges PDF files. Use when the user has several PDF documents.")
BREAD = offer("bread", "Bakes bread. Use when the user has two hours and flour.")


def test_what_fits_and_is_not_installed_is_available_with_the_command_that_installs_it() -> None:
    found = Selector([INVOICES], recall=Shelf(BREAD, MERGE)).select(REQUEST)
    assert not found.selected
    assert [(match.name, match.decision) for match in found.available] == [("pdf-merger", MatchDecision.ACTIVATE)]
    assert install_command(found.available[0]) == "metier skill install r9s:pdf-merger"
    assert "merge" in found.available[0].reason


def test_with_a_limit_the_others_follow_with_their_decisions() -> None:
    found = Selector([INVOICES], recall=Shelf(BREAD, MERGE)).select(REQUEST, 5)
    assert [match.name for match in found.available] == ["pdf-merger", "bread"]
    assert found.available[1].decision is MatchDecision.NOTHING


def test_an_installed_skill_that_fits_needs_no_registry_unless_that_is_asked_for() -> None:
    mine = Installed("2", "pdf-tools", "Merges and splits PDF files. Use for PDF documents.")
    shelf = Shelf(MERGE)
    assert not Selector([mine], recall=shelf).select(REQUEST).available
    assert not shelf.asked
    found = Selector([mine], recall=shelf, options=SelectorOptions(always_recall=True)).select(REQUEST)
    assert [match.name for match in found.selected] == ["pdf-tools"]
    assert [match.name for match in found.available] == ["pdf-merger"]


def test_an_installed_skill_is_not_offered_again() -> None:
    mine = Installed("2", "pdf-merger", "Something else.")
    assert not Selector([mine], recall=Shelf(MERGE)).select(REQUEST).available


def test_candidates_do_not_change_the_installed_result() -> None:
    alone = Selector([INVOICES]).select(REQUEST, 3)
    beside = Selector([INVOICES], recall=Shelf(MERGE)).select(REQUEST, 3)
    assert [(match.id, match.score, match.fit) for match in alone] == [(match.id, match.score, match.fit) for match in beside]


def test_a_registry_that_fails_is_one_sentence() -> None:
    def down(_words: str, _limit: int) -> Sequence[AvailableSkill]:
        raise UnavailableError("cannot reach https://skills.example.com: refused", hint="check the network")

    found = Selector([INVOICES], recall=down).select("write an invoice for a customer", 2)
    assert found.selected and found.note == ""
    found = Selector([INVOICES], recall=down).select(REQUEST, 2)
    assert found.note == "cannot reach https://skills.example.com: refused; only installed skills were searched"


@pytest.mark.parametrize(
    ("request_text", "words"),
    [
        ("merge two PDF files", {"merge", "PDF", "files", "two"}),
        ("the and of", set()),
        ("Führe diese beiden PDF-Dateien zusammen", {"two", "PDF", "file"}),
    ],
)
def test_only_telling_words_leave_the_machine(request_text: str, words: set[str]) -> None:
    found = set(search_words(request_text, load_trained_data()).split())
    assert found >= words if words else not found


def test_a_long_request_sends_six_words() -> None:
    text = " ".join(
        f"Our customer in Leeds told us that the quarterly invoice number {number} is wrong." for number in range(9)
    )
    assert len(search_words(text, load_trained_data()).split()) == 6


def test_a_request_without_a_telling_word_asks_no_one() -> None:
    shelf = Shelf(MERGE)
    assert not Selector([INVOICES], recall=shelf).select("and then?").available
    assert not shelf.asked


def test_a_model_that_chooses_keeps_what_is_available() -> None:
    selector = Selector([INVOICES], recall=Shelf(MERGE))
    chosen = LlmSelector(selector, lambda _prompt: "1").select(REQUEST, 1)
    assert [match.name for match in chosen.selected] == ["invoice-writer"]
    assert [match.name for match in chosen.available] == ["pdf-merger"]
