"""Every code has a page, and every page a code that something prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from metier.scan import RULES
from metier.spec import CODES, Code, Problem, Severity, Verdict, parse
from metier.spec.codes import apply_verdict, problem

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "metier").rglob("*.py"))
QUOTED = re.compile(r"\"(SK\d{3})\"")


def codes_in(files: list[Path]) -> set[str]:
    return {code for file in files for code in QUOTED.findall(file.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("code", CODES.values(), ids=lambda code: code.code)
def test_a_code_is_explained_for_its_reader(code: Code) -> None:
    assert re.fullmatch(r"SK[0-3]\d\d", code.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code.name)
    assert code.text.endswith((".", "`"))
    assert "  " not in code.text
    assert code.text[0].isupper() or code.text[0] == "`"


def test_no_two_codes_share_a_name() -> None:
    assert len({code.name for code in CODES.values()}) == len(CODES)


def test_codes_are_sorted() -> None:
    assert list(CODES) == sorted(CODES)


def test_lenient_never_weighs_a_problem_of_the_standard_more_than_strict() -> None:
    heavier = [code.code for code in CODES.values() if code.lenient and code.lenient.rank > code.strict.rank]
    # A file of more than a mebibyte breaks no rule of the standard, but no loader can use it.
    assert heavier == ["SK016"]


def test_every_code_in_the_sources_has_a_page() -> None:
    assert codes_in(SOURCES) <= {*CODES, *RULES}


def test_every_code_but_advice_is_met_by_a_test() -> None:
    tests = sorted((ROOT / "tests" / "spec").glob("test_*.py"))
    corpus = {
        code
        for file in sorted((ROOT / "tests" / "data" / "spec").glob("*.jsonl"))
        for line in file.read_text().splitlines()
        for code in json.loads(line).get("expected", {}).get("codes", ())
    }
    own = Path(__file__)
    met = corpus | codes_in([file for file in tests if file != own])
    assert {code for code in CODES if not code.startswith("SK2")} - met == set()


@pytest.mark.parametrize(
    "code", [code for code in CODES.values() if code.bad and code.code[2] in "01"], ids=lambda code: code.code
)
def test_the_bad_example_of_a_page_is_bad_and_the_good_one_good(code: Code) -> None:
    assert code.code in found_in(code.bad)
    assert code.code not in found_in(code.good)


def found_in(example: str) -> set[str]:
    """The codes of an example that may be a whole file, some keys, or the value of a rule about file names."""
    if example.endswith(".md"):
        return {"SK013"} if example != "SKILL.md" else set()
    text = example if example.startswith(("---", "#")) else f"---\n{example}\n---\n"
    if example.startswith(("version", "allowed-tools", "metadata")):
        indented = example.replace("version", "metadata:\n  version") if example.startswith("version") else example
        text = f"---\nname: a\ndescription: b\n{indented}\n---\n"
    return {found.code for found in parse(text.encode(), verdict=Verdict.STRICT).report}


def test_a_problem_starts_with_the_weight_of_the_standard() -> None:
    assert problem("SK101", "there is no name", line=2) == Problem(
        code="SK101", severity=Severity.ERROR, message="there is no name", line=2
    )


def test_judging_changes_the_weight_and_nothing_else() -> None:
    found = problem("SK101", "there is no name", hint="add one", file="a.md", line=2, column=3)
    assert apply_verdict(found, Verdict.STRICT) is found
    assert apply_verdict(found, Verdict.COMPAT) is found
    assert apply_verdict(found, Verdict.LENIENT) == Problem(
        code="SK101",
        severity=Severity.WARNING,
        message="there is no name",
        hint="add one",
        file="a.md",
        line=2,
        column=3,
    )


def test_lenient_reports_nothing_that_it_allows() -> None:
    assert apply_verdict(problem("SK160", "unknown"), Verdict.LENIENT) is None
