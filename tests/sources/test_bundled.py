"""The skills that come with metier: each is what we ask of others."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from skills_ref import validate

from builders import FakeMachine, place
from metier.catalog import Catalog, Source, State
from metier.sources import BUNDLED, DiskFiles, LocalMachine, build_catalog
from metier.spec import Report, Verdict, advise, check, find_overlaps

NAMES = ("code-review", "data-analysis", "gh", "hello-world", "skill-authoring", "web-scraping")


def bundled() -> Catalog:
    everything = FakeMachine(commands=frozenset({"gh", "git", "python3"}), python=(3, 99))
    return build_catalog([place(Path(BUNDLED), Source.BUNDLED)], machine=everything)


def test_all_six_are_listed_and_nothing_else() -> None:
    assert tuple(entry.name for entry in bundled().entries) == NAMES
    assert {entry.state for entry in bundled().entries} == {State.ENABLED}


def test_those_that_need_only_python_work_wherever_metier_does() -> None:
    machine = LocalMachine(os.path.dirname(sys.executable))
    catalog = build_catalog([place(Path(BUNDLED), Source.BUNDLED)], machine=machine)
    assert {"code-review", "data-analysis", "hello-world", "skill-authoring", "web-scraping"} <= set(catalog.names)


def test_without_its_command_gh_is_unavailable_and_says_so() -> None:
    entry = build_catalog([place(Path(BUNDLED), Source.BUNDLED)], machine=FakeMachine())["gh"]
    assert (entry.state, "gh" in entry.reason) == (State.UNAVAILABLE, True)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_finds_nothing_wrong(name: str, verdict: Verdict) -> None:
    assert check(DiskFiles(os.path.join(BUNDLED, name)), folder=name, verdict=verdict) == Report()


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_validator_finds_nothing_wrong(name: str) -> None:
    assert validate(Path(BUNDLED, name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_lint_has_neither_errors_nor_warnings(name: str) -> None:
    report = advise(DiskFiles(os.path.join(BUNDLED, name)), folder=name)
    assert (report.errors, report.warnings) == ((), ())


def test_no_two_of_them_could_be_mixed_up() -> None:
    assert find_overlaps((entry.name, entry.description) for entry in bundled()) == ()
