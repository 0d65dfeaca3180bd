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
    "answer", ["", "Sure! I would use pdf-forms.", "pdf-forms, rm-rf", "pdf-forms\ncsv-cleaner", "none, pdf-forms"]
)
def test_any_other_answer_leaves_the_local_one(selector: Selector, answer: str) -> None:
    local = selector.select(REQUEST, limit=2)
    assert LlmSelector(selector, lambda prompt: answer).select(REQUEST, limit=2) == local


def test_a_failing_model_leaves_the_local_answer(selector: Selector) -> None:
    def broken(prompt: str) -> str:
        raise TimeoutError("no model today")

    assert LlmSelector(selector, broken).select(REQUEST, limit=2) == selector.select(REQUEST, limit=2)


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
