"""Commands with their expected output."""

from __future__ import annotations

import pytest

from guards import within_cpu_limit
from metier.evals.transcript import ConsoleStep, difference, read_transcript

PAGE = """# Title

```console
$ echo one
one
$ printf 'a\\nb\\n' \\
  | sort
a
b
$ false
[1]
```

```sh
$ not run
```

```console
$ true
```
"""


def test_a_page_is_read_into_steps_with_their_lines() -> None:
    steps = read_transcript(PAGE)
    assert [(step.command, step.expected, step.code, step.line) for step in steps] == [
        ("echo one", "one", 0, 4),
        ("printf 'a\\nb\\n' \\\n  | sort", "a\nb", 0, 6),
        ("false", "", 1, 10),
        ("true", "", 0, 19),
    ]


def test_windows_line_ends_are_read_too() -> None:
    assert read_transcript(PAGE.replace("\n", "\r\n")) == read_transcript(PAGE)


def test_a_page_without_console_blocks_has_no_steps() -> None:
    assert read_transcript("# Only words\n\n```sh\n$ rm\n```\n") == ()


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ("one", "one\n"),
        ("one  ", "one \n"),
        ("a...z", "a b\nc z\n"),
        ("...\nlast", "first\nmiddle\nlast\n"),
        ("first\n...", "first\nand more\n"),
        ("a...b...c", "a1b2c"),
        ("...", ""),
        ("", ""),
    ],
)
def test_this_is_as_expected(expected: str, output: str) -> None:
    assert difference(ConsoleStep(command="c", expected=expected), 0, output) == ""


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ("one", "two"), ("one", "one\ntwo"), ("a...z", "a b"), ("a...b...c", "a c b"), ("ab...bc", "abc"), ("", "something"),
        ("something", ""),
    ],
)  # fmt: skip
def test_this_is_not(expected: str, output: str) -> None:
    assert difference(ConsoleStep(command="c", expected=expected), 0, output)


def test_another_exit_code_is_a_difference_that_shows_it() -> None:
    assert "+[3]" in difference(ConsoleStep(command="c", expected="x"), 3, "x")
    assert "-[2]" in difference(ConsoleStep(command="c", expected="x", code=2), 0, "x")
    assert difference(ConsoleStep(command="c", expected="x", code=2), 2, "x") == ""


def test_matching_a_hostile_page_takes_linear_work() -> None:
    within_cpu_limit(difference, ConsoleStep(command="c", expected="a...".join([""] * 5_000) + "b"), 0, "a" * 200_000)
    within_cpu_limit(read_transcript, "```console\n" * 20_000)
