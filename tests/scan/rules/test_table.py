"""Every rule has a hit and a near miss, and says all that a finding must say."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from pathlib import Path

import pytest

from metier.scan import RULES, Finding, Rule, ScanVerdict
from metier.spec import CODES, Severity
from scan.corpus import SHAPES, Shape, scanned

HITS = [shape for shape in SHAPES if shape.kind == "hit"]
NEAR = [shape for shape in SHAPES if shape.kind == "near"]
PAGE = Path(__file__).resolve().parents[3] / "docs" / "scan.md"
# These are about the scan, its waivers and its model judge, and have tests of their own.
WITHOUT_SHAPES = {"SK901", "SK902", "SK903", "SK904", "SK910", "SK911"}


def found(shape: Shape) -> list[Finding]:
    return [finding for finding in scanned(shape.files).findings if finding.code == shape.rule]


@pytest.mark.parametrize("shape", HITS, ids=lambda shape: shape.name)
def test_an_attack_shape_is_found_and_weighed_as_its_rule_says(shape: Shape) -> None:
    assert found(shape)
    assert scanned(shape.files).verdict.rank >= RULES[shape.rule].verdict.rank


@pytest.mark.parametrize("shape", NEAR, ids=lambda shape: shape.name)
def test_a_near_miss_passes(shape: Shape) -> None:
    report = scanned(shape.files)
    assert report.verdict is ScanVerdict.PASS, report.findings
    if RULES[shape.rule].verdict is ScanVerdict.PASS:
        # A rule that only makes notes must not make one here.
        assert not found(shape)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)
def test_a_rule_is_documented_and_mapped(rule: Rule) -> None:
    assert re.fullmatch(r"SK[4-9]\d\d", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert rule.why.endswith((".", "`"))
    assert "  " not in rule.why
    assert rule.hint
    assert re.fullmatch(r"AST(?:0[1-9]|10)", rule.ast10)
    if rule.category != "scan":
        assert re.fullmatch(r"ASI(?:0[1-9]|10)", rule.owasp)
        assert re.fullmatch(r"AITech-\d{1,2}\.\d", rule.aitech)


def test_rules_are_sorted_and_share_no_code_or_name_with_validate_and_lint() -> None:
    assert list(RULES) == sorted(RULES)
    pages = [*CODES.values(), *(rule.page for rule in RULES.values())]
    assert len({page.code for page in pages}) == len({page.name for page in pages}) == len(pages)


def test_every_rule_has_a_hit_and_a_near_miss() -> None:
    kinds: dict[str, set[str]] = defaultdict(set)
    for shape in SHAPES:
        kinds[shape.rule].add(shape.kind)
    without = {code for code, rule in RULES.items() if kinds[code] != {"hit", "near"} and rule.category != "observed"}
    assert without == WITHOUT_SHAPES


def test_every_category_of_the_literature_has_a_rule() -> None:
    assert {rule.category for rule in RULES.values()} == {
        "injection", "hidden-text", "download-and-execute", "persistence", "privilege", "destructive", "resource-abuse",
        "credential-access", "exfiltration", "obfuscation", "dependency", "trigger-abuse", "scope-mismatch", "scan", "observed",
    }  # fmt: skip


def catalog() -> str:
    """The table of docs/scan.md; `TEST_GOLDEN=write` writes it."""
    head = "| code | name | category | a plain hit | OWASP agents | OWASP skills | AITech |\n|---|---|---|---|---|---|---|\n"
    rows = (
        f"| {rule.code} | {rule.name} | {rule.category} | {rule.verdict} | {rule.owasp} | {rule.ast10} | {rule.aitech} |"
        for rule in RULES.values()
    )
    return head + "\n".join(rows) + "\n"


def test_the_catalog_in_the_documentation_is_this_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split("<!-- rules -->\n")
    old, after = rest.split("<!-- end of rules -->\n")
    if os.environ.get("TEST_GOLDEN") == "write":
        PAGE.write_text(f"{before}<!-- rules -->\n{catalog()}<!-- end of rules -->\n{after}", encoding="utf-8")
        return
    assert old == catalog()


def test_a_finding_says_where_why_and_what_to_do() -> None:
    shape = next(shape for shape in HITS if shape.rule == "SK501")
    finding = found(shape)[0]
    assert (finding.file, finding.line, finding.column) == ("SKILL.md", 9, 1)
    assert finding.excerpt.startswith("curl -sSL https://")
    assert finding.problem.code == "SK501"
    assert finding.problem.severity is Severity.ERROR
    assert (finding.rule.owasp, finding.rule.aitech) == ("ASI05", "AITech-9.1")
    assert finding.rule.why.startswith("A download goes straight into an interpreter")
