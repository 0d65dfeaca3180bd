"""The finished part of Markdown that is still being written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.cli.chat.markdown import finished_length


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("", ""),
        ("a word", ""),
        ("a paragraph\n", ""),
        ("a paragraph\n\n", "a paragraph\n\n"),
        ("one\n\ntwo", "one\n\n"),
        ("one\n\ntwo\n\nthree", "one\n\ntwo\n\n"),
        ("```py\na\n\nb", ""),
        ("```py\na\n\nb\n```\n\nand", "```py\na\n\nb\n```\n\n"),
        ("one\n\n```\na\n\nb", "one\n\n"),
        ("~~~\n```\n\n~~~\n\nx", "~~~\n```\n\n~~~\n\n"),
        ("````\n```\n\n````\n\nx", "````\n```\n\n````\n\n"),
        ("\n\nstart", "\n\n"),
    ],
)
def test_up_to_the_last_blank_line_outside_code(text: str, done: str) -> None:
    assert text[: finished_length(text)] == done


@given(st.text("a \n`~#|-*", max_size=60), st.text("a \n`~#|-*", max_size=20))
def test_finished_blocks_do_not_change_as_text_arrives(text: str, more: str) -> None:
    assert finished_length(text + more) >= finished_length(text)
