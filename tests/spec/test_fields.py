"""Skill names, and `allowed-tools` in every form people write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.errors import InvalidNameError
from metier.spec import SkillName, format_tools, is_name, parse_tools
from metier.spec.fields import has_outer_comma, is_balanced


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


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("", ()),
        ("   ", ()),
        ("Read", ("Read",)),
        ("Read Grep", ("Read", "Grep")),
        ("Read, Grep,Glob", ("Read", "Grep", "Glob")),
        (" Read ,, Grep ", ("Read", "Grep")),
        ("Bash(git:*) Read", ("Bash(git:*)", "Read")),
        ("Bash(git add *), Read", ("Bash(git add *)", "Read")),
        ("Bash(a, b) Read", ("Bash(a, b)", "Read")),
        ("Bash(f(x) y) Read", ("Bash(f(x) y)", "Read")),
        ("Read\n  Grep\tGlob", ("Read", "Grep", "Glob")),
        ("mcp__server__tool Skill(pdf)", ("mcp__server__tool", "Skill(pdf)")),
        ("Bash(git add Read ", ("Bash(git add Read",)),
        ("a) Bash(git add *) Read", ("a)", "Bash(git add *)", "Read")),
    ],
)
def test_parentheses_hold_a_tool_together(text: str, tools: tuple[str, ...]) -> None:
    assert parse_tools(text) == tools


@pytest.mark.parametrize(
    ("text", "comma"),
    [("Read, Grep", True), ("Bash(a, b)", False), ("Bash(a, b), c", True), ("", False), ("a)b,", True)],
)
def test_a_comma_counts_only_outside_parentheses(text: str, comma: bool) -> None:
    assert has_outer_comma(text) is comma


@pytest.mark.parametrize(
    ("text", "balanced"), [("", True), ("a(b)", True), ("a(b", False), ("a)b", False), (")(", False), ("a(b(c))", True)]
)
def test_parentheses_must_close_in_order(text: str, balanced: bool) -> None:
    assert is_balanced(text) is balanced


def test_tools_are_written_with_spaces() -> None:
    assert format_tools(["Read", "Bash(git add *)"]) == "Read Bash(git add *)"


@given(st.text())
def test_parsing_twice_changes_nothing(text: str) -> None:
    tools = parse_tools(text)
    if is_balanced(text):
        assert parse_tools(format_tools(tools)) == tools


@given(st.text(alphabet="ab(), "))
def test_no_character_of_a_tool_is_lost(text: str) -> None:
    kept = "".join(parse_tools(text)).replace(",", "").replace(" ", "")
    assert kept == text.replace(",", "").replace(" ", "")
