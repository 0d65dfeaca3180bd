"""Patterns are compiled on first use."""

from __future__ import annotations

import re

import pytest

from metier.lazy import lazy_pattern


def test_a_lazy_pattern_works_as_a_compiled_one() -> None:
    lazy, compiled = lazy_pattern(r"(?P<name>a+)b?", re.IGNORECASE), re.compile(r"(?P<name>a+)b?", re.IGNORECASE)
    text = "xAAb ab"
    assert lazy.findall(text) == compiled.findall(text)
    assert [found.span() for found in lazy.finditer(text)] == [found.span() for found in compiled.finditer(text)]
    assert lazy.sub("-", text) == compiled.sub("-", text)
    assert (lazy.pattern, lazy.flags, lazy.groups) == (compiled.pattern, compiled.flags, compiled.groups)
    assert lazy.match(text) is None
    assert lazy.search(text, 2) is not None


def test_a_wrong_expression_fails_when_it_is_used() -> None:
    with pytest.raises(re.error, match="unterminated"):
        lazy_pattern("(").search("")
