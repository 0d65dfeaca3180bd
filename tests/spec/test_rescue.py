"""Second colons that nobody quoted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.spec.rescue import quote_colons, quoted
from metier.spec.yaml import read_yaml, to_text


def rescued(head: str) -> object:
    root = read_yaml(quote_colons(head)[0]).root
    return to_text(root) if root else None


@pytest.mark.parametrize(
    ("head", "meaning"),
    [
        ("description: Use this when: asked", {"description": "Use this when: asked"}),
        ("description: ends with a colon:", {"description": "ends with a colon:"}),
        ("a: it's: quoted", {"a": "it's: quoted"}),
        ('a: say "x": y', {"a": 'say "x": y'}),
        ("a: one: two\nb: three", {"a": "one: two", "b": "three"}),
        ("a: one\n  two: three\n  four\nb: c", {"a": "one two: three four", "b": "c"}),
        ("metadata:\n  note: one: two", {"metadata": {"note": "one: two"}}),
        ("list:\n  - key: one: two", {"list": [{"key": "one: two"}]}),
        ("a: one: two # three", {"a": "one: two # three"}),
    ],
)
def test_the_author_gets_the_text_that_was_meant(head: str, meaning: object) -> None:
    assert read_yaml(head).root is None
    assert rescued(head) == meaning


def test_each_rescue_says_its_key_line_and_column() -> None:
    assert quote_colons("name: a\ndescription: b: c\nmeta:\n  x: y: z")[1] == [("description", 1, 14), ("x", 3, 6)]


@pytest.mark.parametrize(
    "head",
    [
        "a: b\nc: d",
        "a: http://example.com",
        "a: 10:30",
        'a: "b: c"',
        "a: 'b: c'",
        "a: |\n  b: c",
        "a: >-\n  b: c",
        "a: {b: c}",
        "a: [b: c]",
        "a:\n  b: c",
        "# a: b: c",
        "- a: b",
        "",
    ],
)
def test_lines_that_need_no_rescue_stay_as_they_are(head: str) -> None:
    assert quote_colons(head) == (head, [])


@given(st.text(alphabet="ab: '\"\n-#|>", max_size=60))
def test_no_head_makes_it_raise_or_changes_the_number_of_lines(head: str) -> None:
    text, changed = quote_colons(head)
    assert text.count("\n") == head.count("\n")
    assert changed or text == head


@given(st.text(alphabet="ab:' \"#é", min_size=1, max_size=40))
def test_a_quoted_value_reads_as_the_value(value: str) -> None:
    root = read_yaml("a: " + quoted(value)).root
    assert root is not None
    assert to_text(root) == {"a": value.rstrip()}


def test_a_block_with_colons_in_it_is_text_already_and_stays_as_it_is() -> None:
    head = "description: |\n  Steps: first: second\n\n  More: of: it\nlicense: a: b\n"
    quoted, changed = quote_colons(head)
    assert quoted == "description: |\n  Steps: first: second\n\n  More: of: it\nlicense: 'a: b'\n"
    assert [key for key, _, _ in changed] == ["license"]
