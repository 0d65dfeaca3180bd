"""All evals of some skills, planned and run from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.authors import author_skill, entry_of, selector_of
from metier.errors import NotFoundError
from metier.evals import EvalOptions, EvalPlan, EvalServices, optimize_skill, plan_evals, run_evals
from metier.runtime import Limits, Permissions, Runner
from metier.sources import discover
from metier.testing import run_now

QUERIES = [
    {"query": "water the plants on my desk", "should_trigger": True},
    {"query": "how old was Mozart", "should_trigger": False},
]


def plants(root: Path) -> Path:
    return author_skill(
        root, "water-plants", "Waters the plants. Use when plants are dry.",
        files={"evals/eval_queries.json": json.dumps(QUERIES), "tests/usage.md": "```console\n$ echo hello\nhello\n```\n"},
    )  # fmt: skip


def services(folder: Path) -> EvalServices:
    return EvalServices(
        catalog=discover(folder), selector=selector_of(folder), runner=Runner(), permissions=Permissions(), limits=Limits(),
        folder=str(folder.parent),
    )  # fmt: skip


def plan_of(*folders: Path, tests: bool = False) -> EvalPlan:
    return plan_evals([entry_of(folder) for folder in folders], EvalOptions(tests=tests))


def test_a_plan_counts_its_steps_and_the_run_reports_each(tmp_path: Path) -> None:
    folder = plants(tmp_path)
    plan = plan_of(folder, tests=True)
    steps: list[None] = []
    results = run_now(run_evals(plan, services(folder), on_progress=lambda: steps.append(None)))
    assert len(steps) == plan.steps == 3
    assert [report.skill for report in results.triggers] == ["water-plants"]
    assert [test.ok for test in results.tests] == [True]
    assert results.ok
    assert results.data()["failed"] == 0
    assert "Evals of water-plants" in results.html()


def test_a_failed_request_fails_the_evals(tmp_path: Path) -> None:
    folder = plants(tmp_path)
    (folder / "evals/eval_queries.json").write_text(json.dumps([{**QUERIES[1], "should_trigger": True}]))
    results = run_now(run_evals(plan_of(folder), services(folder)))
    assert not results.ok
    assert results.data()["failed"] == 1


def test_skills_without_evals_are_noted(tmp_path: Path) -> None:
    other = author_skill(tmp_path, "charts", "Draws charts. Use when asked for a plot.")
    plan = plan_of(plants(tmp_path), other)
    assert plan.title == "Evals of 2 skills"
    assert plan.notes == ("charts has no evals",)


def test_nothing_to_run_is_an_error_unless_allowed(tmp_path: Path) -> None:
    entry = entry_of(author_skill(tmp_path, "charts", "Draws charts. Use when asked for a plot."))
    with pytest.raises(NotFoundError, match="charts"):
        plan_evals([entry], EvalOptions())
    assert plan_evals([entry], EvalOptions(), allow_none=True).steps == 0


def test_an_optimization_writes_only_when_asked(tmp_path: Path) -> None:
    folder = plants(tmp_path)
    wanted = ["my ficus drops leaves", "the ficus is brown", "ficus leaves everywhere", "is the ficus dry", "ficus: brown"]
    unwanted = ["review my diff", "plot sales.csv", "write a letter", "how old was Mozart", "a map of Europe"]
    rows = [{"query": text, "should_trigger": text in wanted} for text in (*wanted, *unwanted)]
    (folder / "evals/eval_queries.json").write_text(json.dumps(rows))
    before = (folder / "SKILL.md").read_bytes()
    found = run_now(optimize_skill(entry_of(folder), catalog=discover(folder), selector=selector_of(folder)))
    assert found.result.is_better
    assert "ficus" in found.diff
    assert (folder / "SKILL.md").read_bytes() == before
    assert found.write()
    assert b"ficus" in (folder / "SKILL.md").read_bytes()
