"""Every bundled skill ships trigger evals and script tests, and passes them."""

from __future__ import annotations

import os

import pytest

from metier.evals.files import balance, read_queries
from metier.evals.ranking import Ranking
from metier.evals.suites import find_suites, run_suites
from metier.evals.triggers import run_triggers
from metier.runtime.running import Runner
from metier.selection import Selector
from metier.sources import BUNDLED, DiskFiles, discover
from metier.sources.index import IndexedSkill
from metier.testing import run_now

ENTRIES = {entry.name: entry for entry in discover(BUNDLED).entries}
_MOST_BYTES = 12_000


@pytest.fixture(scope="module")
def everyone() -> Selector:
    return Selector([IndexedSkill(entry) for entry in ENTRIES.values()])


@pytest.mark.parametrize("name", ENTRIES)
def test_it_triggers_when_it_should_and_only_then(name: str, everyone: Selector) -> None:
    entry = ENTRIES[name]
    queries = read_queries(DiskFiles(entry.folder), skill=name)
    assert balance(queries) == ()
    report = run_now(run_triggers(name, queries, Ranking(everyone, entry)))
    assert [(row.query, row.choice.own) for row in report.failures] == []


@pytest.mark.parametrize("name", ENTRIES)
def test_its_tests_pass_in_the_sandbox(name: str) -> None:
    results = run_now(run_suites(find_suites(name, ENTRIES[name].folder), Runner()))
    assert [(one.file, one.line, one.message) for one in results if not one.ok] == []
    assert any(one.status == "passed" for one in results)


@pytest.mark.parametrize("name", ENTRIES)
def test_its_proof_is_small(name: str) -> None:
    proof = [entry for entry in DiskFiles(ENTRIES[name].folder).list() if entry.path.startswith(("evals/", "tests/"))]
    assert sum(entry.size for entry in proof) < _MOST_BYTES


def test_no_two_of_them_compete(everyone: Selector) -> None:
    from metier.evals.conflicts import conflicts

    skills = [IndexedSkill(entry) for entry in ENTRIES.values()]
    assert [pair.names for pair in conflicts(skills, everyone)] == []


def test_there_are_six(everyone: Selector) -> None:
    assert len(everyone) == len(os.listdir(BUNDLED)) == 6
