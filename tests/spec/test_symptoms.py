"""Bugs that were, named after their symptoms."""

from __future__ import annotations

import pytest

from metier.errors import InvalidSkillError, RefusedError
from metier.spec import MemoryFiles, Verdict, check, load, parse, resource_path
from metier.spec.fast_yaml import fast_fields
from metier.spec.yaml import Scalar, scalar_value


def files(head: str) -> MemoryFiles:
    return MemoryFiles({"SKILL.md": f"---\n{head}---\n".encode()})


def compat(head: str) -> bool:
    return check(files(head), folder="a", verdict=Verdict.COMPAT).ok


PLAIN = "name: a\ndescription: d\n"


@pytest.mark.parametrize(
    ("skill", "folder"),
    [
        (files(PLAIN + "? [x]\n: y\n"), "a"),
        (files("description: d\n"), None),
        (files("name: []\ndescription: d\n"), None),
        (MemoryFiles({"SKILL.md": b"x" * 2_000_000}), "a"),
    ],
)
def test_a_skill_that_cannot_be_loaded_is_invalid_and_no_index_error(skill: MemoryFiles, folder: str | None) -> None:
    with pytest.raises(InvalidSkillError):
        load(skill, folder=folder)


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029"])
def test_unicode_line_ends_do_not_make_parse_raise(end: str) -> None:
    parse(f"---\n#{end}#{end}#{end}#{end}\n{PLAIN}---\n".encode(), folder="a")


def test_a_large_file_of_noise_is_not_strictly_ok() -> None:
    assert not check(MemoryFiles({"SKILL.md": b"x" * 2_000_000}), folder="a").ok


@pytest.mark.filterwarnings("error")
def test_a_pattern_with_a_nested_set_does_not_warn() -> None:
    parse(f"---\n{PLAIN}triggers:\n  patterns: ['[[a]b]']\n---\n".encode())


def test_a_long_number_keeps_its_digits() -> None:
    assert scalar_value(Scalar("12345678901234567890", 1, 1)) == "12345678901234567890"


def test_half_a_surrogate_pair_is_not_a_path() -> None:
    with pytest.raises(RefusedError):
        resource_path("a/\ud800")


@pytest.mark.parametrize(
    "extra",
    ["metadata:\n  ? [x]\n  : y\n", "? list:\n    - x\n", "allowed-tools:\n  !!str Read\n", "tags: [pdf,:forms]\n"],
)
def test_the_fast_parser_leaves_odd_yaml_to_the_slow_one(extra: str) -> None:
    assert fast_fields(PLAIN + extra, "a") is None


@pytest.mark.parametrize(
    ("head", "ok"),
    [
        ("name: a\ndescription: x\ty\n", False),
        ("name: a\ndescription: x\u2028y\n", True),
        ("name: a\ndescription: x\x85y\n", True),
        (PLAIN + "metadata:\n  : b\n", True),
        (PLAIN + "metadata:\n  a:\n    x: y\n  b:\n      x: y\n", False),
        ('name: a\ndescription: "\\ud800"\n', True),
        ("name: a\ndescription: >#-\n  x\n", False),
        ("name: a\ndescription: =\n", False),
    ],
)
def test_compat_reads_yaml_as_strictyaml_does(head: str, ok: bool) -> None:
    assert compat(head) is ok


def test_an_odd_spelling_of_a_key_is_reported_on_its_own_line() -> None:
    [found] = [
        one
        for one in parse(f"---\n{PLAIN}user_invocable: perhaps\n---\n".encode(), verdict=Verdict.STRICT).report
        if one.code == "SK301"
    ]
    assert (found.line, found.column) == (4, 17)


def test_an_empty_block_at_the_end_is_left_to_the_slow_parser() -> None:
    assert fast_fields("name: a\ndescription: d\nmetadata:\n  c: |\n", "a") is None


@pytest.mark.parametrize("key", ["requires", "version", "author", "tags"])
def test_a_word_that_looks_like_a_boolean_is_left_to_the_slow_parser(key: str) -> None:
    assert fast_fields(f"name: a\ndescription: d\n{key}: true\n", "a") is None
