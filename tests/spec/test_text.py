"""Token estimates without a tokenizer, first sentences, and summaries of scripts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.spec import estimate_tokens, first_sentence, script_summary


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é" * 4, 2), ("😀", 1)])
def test_a_token_is_a_quarter_of_the_bytes_rounded_up(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_more_text_never_costs_less(one: str, two: str) -> None:
    assert estimate_tokens(one + two) >= max(estimate_tokens(one), estimate_tokens(two))


def test_half_a_surrogate_pair_does_not_raise() -> None:
    assert estimate_tokens("\ud800") == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Fills forms. Use when asked.", "Fills forms."),
        ("Fills forms", "Fills forms"),
        ("Reads e.g. forms and v1.2 files", "Reads e.g. forms and v1.2 files"),
        ("One\n  line\n\nAnother", "One line"),
        ("  Wow! Really? Yes.", "Wow!"),
        ("", ""),
    ],
)
def test_the_first_sentence_is_the_brief_description(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


@pytest.mark.parametrize(
    ("source", "summary"),
    [
        ('"""Fills a form.\n\nMore."""\n', "Fills a form."),
        ("#!/bin/sh\n# Fills a form.\n", "Fills a form."),
        ("# /// script\n# dependencies = []\n# ///\n'''Fills a form.'''\n", "Fills a form."),
        ("// Fills a form.\n", "Fills a form."),
        ("print(1)\n", ""),
        ("# " + "a" * 300, "a" * 200),
    ],
)
def test_a_script_is_summarized_by_its_docstring_or_first_comment(source: str, summary: str) -> None:
    assert script_summary(source) == summary
