"""Expressions are searched only in texts with a literal of theirs, and find the same."""

from __future__ import annotations

import importlib
import pkgutil
import random
import re

import pytest

import metier.scan
from metier.scan.expressions import literals_of, text_pattern

FILTERED = {
    f"{module.name}.{name}": value
    for module in pkgutil.walk_packages(metier.scan.__path__, "metier.scan.")
    for name, value in vars(importlib.import_module(module.name)).items()
    if type(value) is type(text_pattern("a"))
}


@pytest.mark.parametrize(
    ("expression", "literals"),
    [
        (r"\bhost(?:name)?['\"]?\s{0,4}[:=]", {"host"}),
        (r"abc?def", {"def"}),
        (r"(?:foo|bar(?:x|y)?)+z", {"foo", "bar"}),
        (r"(?P<verb>send|post) to\b", {"send", "post"}),
        (r"ab(?:cd)?", {"ab"}),
        (r"(?!never)foo\.bar", {"foo.bar"}),
        (r"<(?P<tag>details)>.*</(?P=tag)", {"details"}),
    ],
)
def test_literals_are_read_from_an_expression(expression: str, literals: set[str]) -> None:
    assert literals_of(expression) == literals


@pytest.mark.parametrize("expression", [r"a|bcd", r"\d{2,3},", r"(?:abc)?\w+", r"(?i)abc", "(?x) abc  # said"])
def test_an_expression_without_sure_literals_is_searched_everywhere(expression: str) -> None:
    assert literals_of(expression) == frozenset()


@pytest.mark.parametrize("name", sorted(FILTERED))
def test_a_filtered_search_finds_what_the_search_finds(name: str) -> None:
    """In texts made of an expression's own pieces."""
    plain = re.compile(FILTERED[name].pattern, FILTERED[name].flags)
    pieces = re.findall(r"[A-Za-z]+|[^\w\\]", plain.pattern)
    choice = random.Random(name)
    for _ in range(30):
        text = "".join(choice.choices(pieces, k=40))
        found, expected = FILTERED[name].search(text), plain.search(text)
        assert (found and found.span()) == (expected and expected.span())
