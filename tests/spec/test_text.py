"""The price of a text, without a tokenizer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.spec import estimate_tokens


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é" * 4, 2), ("😀", 1)])
def test_a_token_is_a_quarter_of_the_bytes_rounded_up(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_more_text_never_costs_less(one: str, two: str) -> None:
    assert estimate_tokens(one + two) >= max(estimate_tokens(one), estimate_tokens(two))


def test_half_a_surrogate_pair_does_not_raise() -> None:
    assert estimate_tokens("\ud800") == 1
