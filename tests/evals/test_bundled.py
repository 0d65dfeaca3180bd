"""Every bundled skill ships trigger evals and script tests, and passes them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from metier.evals.files import balance, read_cases, read_queries
from metier.evals.outputs import OutputEval, OutputReport, run_outputs
from metier.evals.ranker_judge import RankerTriggerJudge
from metier.evals.results_folder import ResultsFolder
from metier.evals.skill_tests import find_skill_tests, run_skill_tests
from metier.evals.triggers import run_triggers
from metier.models import ModelChoice, ModelClient
from metier.runtime import ApprovalAnswer, Limits, Permissions, Runner
from metier.selection import Selector
from metier.sources import BUNDLED, DiskFiles, discover
from metier.sources.selection_index import IndexedSkill
from metier.testing import ModelAnswer, ModelRequest, ModelServer, calls, run_now, says

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
    report = run_now(run_triggers(name, queries, RankerTriggerJudge(everyone, entry)))
    assert [(row.query, row.choice.own) for row in report.failures] == []


@pytest.mark.parametrize("name", ENTRIES)
def test_its_tests_pass_in_the_sandbox(name: str) -> None:
    results = run_now(run_skill_tests(find_skill_tests(name, ENTRIES[name].folder), Runner()))
    assert [(one.file, one.line, one.message) for one in results if not one.ok] == []
    assert any(one.status == "passed" for one in results)


@pytest.mark.parametrize("name", ENTRIES)
def test_its_proof_is_small(name: str) -> None:
    proof = [entry for entry in DiskFiles(ENTRIES[name].folder).list() if entry.path.startswith(("evals/", "tests/"))]
    assert sum(entry.size for entry in proof) < _MOST_BYTES


def test_no_two_of_them_compete(everyone: Selector) -> None:
    from metier.evals.conflicts import find_conflicts

    skills = [IndexedSkill(entry) for entry in ENTRIES.values()]
    assert [pair.names for pair in find_conflicts(skills, everyone).conflicts] == []


def test_there_are_six(everyone: Selector) -> None:
    assert len(everyone) == len(os.listdir(BUNDLED)) == 6


def test_the_checks_of_its_output_evals_distinguish_right_from_wrong(tmp_path: Path) -> None:
    """A model that uses the skill's script passes the programs' checks; one that only talks fails them."""

    def script(request: ModelRequest) -> ModelAnswer:
        if "You check the result" in request.user:
            claims = request.user.partition("Claims:")[2].count("\n") - 3
            return says(json.dumps({"results": [{"passed": False, "evidence": "not looked at"}] * claims}))
        if "run_skill_script" not in request.tools:
            return says("There are some rows, I think.")
        data = request.system.partition("find them in ")[2].partition(". ")[0] + "/sales.csv"
        words = ["chart", data, "--kind", "bar", "--x", "region", "--y", "revenue", "--output", "/tmp/revenue.svg"]
        if "Summarise" in request.user:
            words = ["summary", data]
        if not request.results:
            return calls("run_skill_script", skill_name="data-analysis", script_name="scripts/analyze.py", args=words)
        return says("There are 6 rows; 2000 is an outlier.")

    entry = ENTRIES["data-analysis"]

    async def go(server: ModelServer) -> OutputReport:
        async with ModelClient(ModelChoice(name="tiny", base_url=server.url)) as model:
            evaluation = OutputEval(
                entry=entry, cases=read_cases(DiskFiles(entry.folder)), model=model, runner=Runner(), limits=Limits(),
                permissions=Permissions(approve=lambda _: ApprovalAnswer.ONCE),
            )  # fmt: skip
            return await run_outputs(evaluation, ResultsFolder(str(tmp_path), runs=1))

    with ModelServer(script) as server:
        report = run_now(go(server))
    checked = {(one.case, one.variant): one.grades[0] for one in report.done}
    assert {place: grade.passed for place, grade in checked.items()} == {
        ("outlier", "with_skill"): True, ("outlier", "without_skill"): False,
        ("chart", "with_skill"): True, ("chart", "without_skill"): False,
    }, checked  # fmt: skip
    assert "there is no revenue.svg" in checked["chart", "without_skill"].evidence
