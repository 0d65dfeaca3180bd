"""Values of secrets in output."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from metier.runtime.secrets import redact

VALUE = 'pa"ss w+rd/1234é'


def test_a_value_is_replaced_in_every_usual_form() -> None:
    for form in (VALUE, quote(VALUE, safe=""), json.dumps(VALUE), repr(VALUE)):
        assert VALUE not in redact(f"before {form} after", {"KEY": VALUE})
        assert "[KEY]" in redact(f"before {form} after", {"KEY": VALUE})


@given(st.binary(max_size=5), st.binary(max_size=5), st.text(st.characters(codec="ascii"), min_size=12, max_size=40))
def test_base64_of_a_value_is_found_at_any_place(before: bytes, after: bytes, value: str) -> None:
    text = base64.b64encode(before + value.encode() + after).decode()
    assert "[KEY]" in redact(text, {"KEY": value})


def test_the_longest_value_wins_and_short_ones_stay() -> None:
    assert redact("abcdef abc", {"LONG": "abcdef", "SHORT": "abc"}) == "[LONG] abc"


def test_lines_of_a_long_value_are_found_alone() -> None:
    value = "-----BEGIN-----\n" + "A" * 64 + "\n" + "B" * 64
    assert redact(f"> {'B' * 64}", {"PEM": value}) == "> [PEM]"
