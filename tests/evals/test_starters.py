"""Starters for evals and tests: valid as they are, and about the skill."""

from __future__ import annotations

import json

from builders import skill_text
from metier.evals import starter_evals, starter_tests
from metier.evals.transcript import read_transcript
from metier.spec import parse


def _queries(description: str) -> list[tuple[str, bool]]:
    manifest = parse(skill_text("pdf", description=description).encode()).manifest
    assert manifest is not None
    return [(row["query"], row["should_trigger"]) for row in json.loads(starter_evals(manifest))]


def test_starter_evals_take_requests_from_the_description() -> None:
    wanted, when, *others = _queries("Fills PDF forms. Use when the user has a form to fill. Not for Word files.")
    assert (wanted, when) == (("Fills PDF forms.", True), ("the user has a form to fill", True))
    assert [should for _, should in others] == [False, False]


def test_a_description_that_says_no_when_gives_one_request() -> None:
    assert [should for _, should in _queries("Fills PDF forms")] == [True, False, False]


def test_a_starter_page_asks_each_script_for_its_help() -> None:
    steps = read_transcript(starter_tests(["scripts/run.py", "scripts/make.sh", "scripts/tool"]))
    assert [step.command for step in steps] == [
        "sh scripts/make.sh --help",
        "python3 scripts/run.py --help",
        "scripts/tool --help",
    ]
