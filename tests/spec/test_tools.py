"""`allowed-tools`, in every form people write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.spec import format_tools, parse_tools
from metier.spec.tools import has_outer_comma, is_balanced


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
def test_reading_what_was_read_changes_nothing(text: str) -> None:
    tools = parse_tools(text)
    if is_balanced(text):
        assert parse_tools(format_tools(tools)) == tools


@given(st.text(alphabet="ab(), "))
def test_no_character_of_a_tool_is_lost(text: str) -> None:
    kept = "".join(parse_tools(text)).replace(",", "").replace(" ", "")
    assert kept == text.replace(",", "").replace(" ", "")
