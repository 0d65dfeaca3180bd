from __future__ import annotations

import pytest

from metier.selection import LlmSelector, Selector
from metier.selection.llm import parse_names, selection_prompt

REQUEST = "merge these pdf files and write an invoice"


def test_the_model_chooses_from_the_shortlist(selector: Selector) -> None:
    found = LlmSelector(selector, lambda prompt: "invoice-writer, pdf-forms").select(REQUEST)
    assert [match.name for match in found] == ["invoice-writer", "pdf-forms"]


def test_none_means_none(selector: Selector) -> None:
    assert LlmSelector(selector, lambda prompt: "none").select(REQUEST).selected == ()


@pytest.mark.parametrize("limit", [1, 2])
def test_never_more_than_the_limit(selector: Selector, limit: int) -> None:
    chatty = LlmSelector(selector, lambda prompt: "invoice-writer, pdf-forms, csv-cleaner")
    assert len(chatty.select(REQUEST, limit=limit)) == limit


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ("pdf-forms, rm-rf", ["pdf-forms"]),
        ("- pdf-forms\n- csv-cleaner", ["pdf-forms", "csv-cleaner"]),
        ("1. **csv-cleaner**: cleans the table\n2. `pdf-forms`", ["csv-cleaner", "pdf-forms"]),
        ('["csv-cleaner"]', ["csv-cleaner"]),
        ('```json\n{"skills": ["pdf-forms", "rm-rf"]}\n```', ["pdf-forms"]),
        ("Sure! I would use pdf-forms.", ["pdf-forms"]),
        ("pdf-forms. I would not use csv-cleaner, as there is no table.", ["pdf-forms"]),
        ("csv-cleaner doesn't fit.", []),
        ("None of these skills is relevant.", []),
        ("No skills are needed.", []),
        ("[]", []),
    ],
)
def test_an_answer_in_another_form_is_read(selector: Selector, answer: str, names: list[str]) -> None:
    found = LlmSelector(selector, lambda prompt: answer).select(REQUEST)
    assert ([match.name for match in found], found.note) == (names, "")


@pytest.mark.parametrize("answer", ["", "Sure!", "rm-rf", '["rm-rf"]', "pdf-forms-2"])
def test_an_answer_without_a_known_name_leaves_the_local_selection_and_says_so(selector: Selector, answer: str) -> None:
    found = LlmSelector(selector, lambda prompt: answer).select(REQUEST, limit=2)
    assert found.selected == selector.select(REQUEST, limit=2).selected
    assert found.note == f"the model named no known skill: {answer!r}"


def test_a_failing_model_leaves_the_local_answer(selector: Selector) -> None:
    def broken(prompt: str) -> str:
        raise TimeoutError("no model today")

    found = LlmSelector(selector, broken).select(REQUEST, limit=2)
    assert found.selected == selector.select(REQUEST, limit=2).selected
    assert found.note == "the model could not choose skills: no model today"


def test_an_empty_library_does_not_ask() -> None:
    def never(prompt: str) -> str:
        raise AssertionError("asked")

    assert LlmSelector(Selector([]), never).select(REQUEST).selected == ()


def test_the_prompt_is_seed_004s(selector: Selector) -> None:
    prompt = selection_prompt('say\n"hi"', selector.select("merge pdf files", limit=1))
    assert prompt == (
        "Available skills:\n- pdf-forms: Fill in PDF forms and merge PDF files. Use when a document ends in .pdf.\n\n"
        'User query: "say "hi""\n\nWhich skills are relevant? Return comma-separated names or "none".\n'
    )


def test_names_are_taken_once_and_unquoted() -> None:
    assert parse_names('"a", b, a.', ["a", "b"]) == ["a", "b"]
