from __future__ import annotations

import random
import re

import pytest

from metier.selection.trigger_patterns import MAX_STEPS, TriggerPatternError, compile_pattern

PIECES = (
    "a",
    "b",
    "(?:a|b)",
    "[ab]",
    ".",
    "a*",
    "b+?",
    "a?",
    "(ab)*",
    "^",
    "$",
    "|",
    r"\b",
    "a{1,2}",
    "(a|b*)+",
    " ",
    "[^a]",
)


def test_it_agrees_with_python_on_thousands_of_patterns() -> None:
    dice = random.Random(3)
    for _ in range(3_000):
        pattern = "".join(dice.choices(PIECES, k=dice.randint(1, 6)))
        text = "".join(dice.choices("ab c", k=dice.randint(0, 8)))
        try:
            ours = compile_pattern(pattern).is_found_in(text)
        except TriggerPatternError:
            with pytest.raises(re.error):
                re.compile(pattern)
            continue
        assert ours == bool(re.search(pattern, text, re.IGNORECASE | re.DOTALL)), (pattern, text)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a*)*b", "(.*)*x", "(?:a?){300}a{300}"])
def test_a_pattern_that_would_hang_python_takes_a_bounded_number_of_steps(pattern: str) -> None:
    compiled = compile_pattern(pattern)
    _, steps = compiled.search("a" * 2_000 + "!")
    assert steps <= MAX_STEPS + len(compiled.program) + 1


@pytest.mark.parametrize("pattern", ["(?=a)b", r"(a)\1", "a++", "(?>a)", "(?<!x)y", "[", "(((a{900}){900}){900})", "a" * 501])
def test_an_unsafe_pattern_is_refused_with_a_reason(pattern: str) -> None:
    with pytest.raises(TriggerPatternError, match="ignored trigger pattern"):
        compile_pattern(pattern)
