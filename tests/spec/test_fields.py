"""What a skill may be called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.errors import InvalidNameError
from metier.spec import SkillName, is_name


@pytest.mark.parametrize("text", ["a", "1", "pdf", "pdf-forms", "a-1-b", "123", "a" * 64])
def test_lowercase_words_joined_by_single_hyphens_are_names(text: str) -> None:
    assert is_name(text)
    assert str(SkillName(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "-a",
        "a-",
        "a--b",
        "A",
        "a_b",
        "a b",
        "a.b",
        "a/b",
        "a\n",
        "\na",
        "é",
        "技能",
        "２",
        "a" * 65,
        "a\0",
        "..",
        " a",
    ],
)
def test_anything_else_is_not(text: str) -> None:
    assert not is_name(text)
    with pytest.raises(InvalidNameError):
        SkillName(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("My Skill!", "try 'my-skill'"),
        ("--a__b--", "try 'a-b'"),
        ("技能", "use a-z, 0-9 and single hyphens, 64 characters at most"),
    ],
)
def test_a_refusal_suggests_the_nearest_name(text: str, hint: str) -> None:
    with pytest.raises(InvalidNameError) as caught:
        SkillName(text)
    assert caught.value.hint == hint


def test_names_sort_as_their_text() -> None:
    assert sorted([SkillName("b"), SkillName("a-1")]) == [SkillName("a-1"), SkillName("b")]


@given(st.text())
def test_a_name_is_ascii_and_short_whatever_was_tried(text: str) -> None:
    if is_name(text):
        assert text.isascii()
        assert text == text.lower().strip("-")
        assert 1 <= len(text) <= 64


@given(st.text())
def test_a_suggestion_is_itself_a_name(text: str) -> None:
    try:
        SkillName(text)
    except InvalidNameError as error:
        if error.hint.startswith("try "):
            assert is_name(error.hint.removeprefix("try ").strip("'"))
