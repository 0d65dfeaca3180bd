"""Attacks in many wordings: what is found stays found, and every phrase and sentence rule is met by one.

`python -m benchmarks.scan` measures published skills.
"""

from __future__ import annotations

from collections import Counter

import pytest

from metier.scan import ScanVerdict
from metier.scan.patterns import read_sentence_rules
from metier.scan.rules.phrases import PHRASES, phrases_of
from scan.corpus import ATTACKS, HONEST, INJECTIONS, SHAPES, Attack, scanned


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_gets_at_least_the_verdict_on_record(attack: Attack) -> None:
    report = scanned(attack.files)
    assert report.verdict.rank >= attack.verdict.rank, report.findings


def test_most_attacks_of_each_category_are_blocked() -> None:
    """The figures in docs/scan.md come from here."""
    total, blocked = Counter[str](), Counter[str]()
    for attack in ATTACKS:
        total[attack.category] += 1
        blocked[attack.category] += attack.verdict is ScanVerdict.BLOCK
    shares = {category: blocked[category] / total[category] for category in total}
    assert shares.pop("instruction in context") >= 0.6
    assert shares.pop("dependency") >= 0.6
    assert min(shares.values()) >= 0.8, shares


def test_nearly_all_attacks_by_blind_authors_are_blocked() -> None:
    """The rules learned from these, so they do not measure new attacks; see docs/scan.md."""
    blind = [attack for attack in ATTACKS if attack.is_blind]
    words = [attack for attack in blind if attack.category in ("instruction", "instruction in context")]
    assert (len(blind), len(words), len(HONEST)) == (245, 120, 99)
    assert sum(attack.verdict is ScanVerdict.BLOCK for attack in blind) >= 220
    assert sum(attack.verdict is ScanVerdict.BLOCK for attack in words) >= 99


@pytest.mark.parametrize(
    ("half", "found"), [("dev", 0.90), ("held", 0.64), ("seen", 0.90), ("unseen", 0.66), ("fresh", 0.36), ("fresh-held", 0.39)]
)
def test_injections_in_new_words_are_blocked_and_their_honest_twins_pass(half: str, found: float) -> None:
    """The rules were written with the halves `dev` and `seen` in view. Of `fresh` few classes were, and the others none."""
    verdicts = {"malicious": Counter[ScanVerdict](), "benign": Counter[ScanVerdict]()}
    for row in INJECTIONS:
        if row["half"] == half:
            verdicts[row["label"]][scanned({path: text.encode() for path, text in row["files"].items()}).verdict] += 1
    assert verdicts["malicious"][ScanVerdict.BLOCK] / verdicts["malicious"].total() >= found
    assert set(verdicts["benign"]) == {ScanVerdict.PASS}


@pytest.mark.parametrize("honest", HONEST, ids=lambda honest: str(honest["why"])[:40])
def test_an_honest_skill_that_looks_like_an_attack_is_not_blocked(honest: dict[str, dict[str, str]]) -> None:
    report = scanned({path: text.encode() for path, text in honest["files"].items()})
    assert report.verdict is not ScanVerdict.BLOCK, report.findings


def test_every_sentence_rule_and_every_phrase_is_met_by_an_attack_or_a_shape() -> None:
    files = [*(attack.files for attack in ATTACKS), *(shape.files for shape in SHAPES)]
    met = {finding.message.partition(" (in ")[0] for one in files for finding in scanned(one).findings}
    assert {rule.message for rule in read_sentence_rules()} | {phrase.message for phrase in phrases_of(PHRASES)} <= met
