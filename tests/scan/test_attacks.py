"""Attacks in many wordings: what is found stays found, every order is met by one, and real skills are left alone."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from metier.scan import ScanVerdict
from metier.scan.rules.phrases import PHRASES
from metier.scan.rules.sentence_rules import SENTENCE_RULES
from scan.corpus import ATTACKS, HONEST, SHAPES, Attack, scanned

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "real-skills.jsonl.gz"


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_is_judged_no_milder_than_before(attack: Attack) -> None:
    report = scanned(attack.files)
    assert report.verdict.rank >= attack.verdict.rank, report.findings


def test_most_attacks_are_blocked_and_what_a_machine_runs_more_than_what_a_model_reads() -> None:
    """The share of each category that is blocked; the figures in docs/scan.md come from here."""
    total, blocked = Counter[str](), Counter[str]()
    for attack in ATTACKS:
        total[attack.category] += 1
        blocked[attack.category] += attack.verdict is ScanVerdict.BLOCK
    shares = {category: blocked[category] / total[category] for category in total}
    assert shares.pop("order in context") >= 0.6
    assert shares.pop("dependency") >= 0.6
    assert min(shares.values()) >= 0.8, shares


def test_what_strangers_wrote_is_all_there_and_nearly_all_of_it_is_blocked() -> None:
    """Learnt from, so no measure of the next stranger's attack; see docs/scan.md."""
    blind = [attack for attack in ATTACKS if attack.is_blind]
    words = [attack for attack in blind if attack.category in ("instruction", "order in context")]
    assert (len(blind), len(words), len(HONEST)) == (245, 120, 99)
    assert sum(attack.verdict is ScanVerdict.BLOCK for attack in blind) >= 224
    assert sum(attack.verdict is ScanVerdict.BLOCK for attack in words) >= 103


@pytest.mark.parametrize("honest", HONEST, ids=lambda honest: str(honest["why"])[:40])
def test_an_honest_skill_that_looks_like_an_attack_is_not_blocked(honest: dict[str, dict[str, str]]) -> None:
    report = scanned({path: text.encode() for path, text in honest["files"].items()})
    assert report.verdict is not ScanVerdict.BLOCK, report.findings


def test_every_order_and_every_phrase_is_met_by_an_attack_or_a_shape() -> None:
    files = [*(attack.files for attack in ATTACKS), *(shape.files for shape in SHAPES)]
    met = {finding.message.partition(" (in ")[0] for one in files for finding in scanned(one).findings}
    assert {order.message for order in SENTENCE_RULES} | {phrase.message for phrase in PHRASES} <= met


@pytest.mark.skipif(not REAL.exists(), reason="the collection of real skills is not here")
def test_few_real_skills_are_blocked() -> None:
    with gzip.open(REAL, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for number, line in enumerate(file) if number % 12 == 0]
    # Skills of scanners' own test suites are attacks on purpose.
    honest = [row for row in rows if "skillscan" not in row["repo"] and "skill-scanner" not in row["repo"]]
    blocked = [
        row["path"] for row in honest if scanned({"SKILL.md": row["bytes"].encode("latin-1")}).verdict is ScanVerdict.BLOCK
    ]
    assert len(blocked) <= len(honest) * 0.01, blocked
