"""`metier skill explain`: every code has its page."""

from __future__ import annotations

from cli.shell import Shell
from metier.scan import RULES
from metier.spec import CODES

PAGES = {**CODES, **{rule.code: rule.page for rule in RULES.values()}}


def test_every_code_has_its_page(shell: Shell) -> None:
    page = shell("skill", "explain", *PAGES).ok().out
    words = " ".join(page.split())
    for code in PAGES.values():
        assert f"{code.code} {code.name}" in words
        assert " ".join(code.text.split()) in words
        for example in (code.bad, code.good):
            assert " ".join(example.split()) in words


def test_without_a_code_all_are_listed(shell: Shell) -> None:
    lines = shell("skill", "explain").ok().out.splitlines()
    assert [line.split()[0] for line in lines] == list(PAGES)
    assert {row["code"] for row in shell("skill", "explain", "--json").data["codes"]} == PAGES.keys()


def test_a_code_is_found_in_lower_case_and_by_its_name(shell: Shell) -> None:
    for text in ("SK101", "sk101", CODES["SK101"].name):
        assert shell("skill", "explain", text, "--json").data["codes"][0]["code"] == "SK101"
