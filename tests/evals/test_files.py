"""Eval files in every spelling, and one sentence for whatever is wrong with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evals.authors import eval_files
from metier.errors import MetierError, NotFoundError
from metier.evals.files import EvalFileError, balance, meant_for_others, read_cases, read_queries
from metier.spec import MemoryFiles

ASKED = [{"query": "plot it", "should_trigger": True}, {"query": "cook it", "should_trigger": False}]


@pytest.mark.parametrize("place", ["evals__eval_queries", "eval_queries"])
@pytest.mark.parametrize("document", [ASKED, {"skill_name": "a", "queries": ASKED}])
def test_queries_are_read_from_both_places_and_both_shapes(place: str, document: Any) -> None:
    queries = read_queries(eval_files(**{place: document}))
    assert [(query.text, query.should_trigger) for query in queries] == [("plot it", True), ("cook it", False)]


def test_a_task_is_also_a_request_that_should_trigger() -> None:
    tasks = {"evals": [{"id": 1, "prompt": "draw a chart"}, {"id": 2, "prompt": "bake a cake", "should_trigger": False}]}
    queries = read_queries(eval_files(evals__eval_queries=ASKED, evals__evals=tasks))
    assert {query.text: query.should_trigger for query in queries} == {
        "plot it": True, "cook it": False, "draw a chart": True, "bake a cake": False,
    }  # fmt: skip


def test_the_same_request_is_asked_once() -> None:
    assert len(read_queries(eval_files(evals__eval_queries=[*ASKED, *ASKED]))) == 2


def test_a_skill_without_evals_gets_a_hint_where_they_go() -> None:
    with pytest.raises(NotFoundError, match="trim has no trigger evals") as raised:
        read_queries(eval_files(), skill="trim")
    assert "evals/eval_queries.json" in raised.value.hint
    with pytest.raises(NotFoundError, match="trim has no output evals"):
        read_cases(eval_files(evals__eval_queries=ASKED), skill="trim")


@pytest.mark.parametrize("key", ["assertions", "expectations"])
def test_assertions_are_read_in_both_spellings(key: str) -> None:
    document = {"skill_name": "a", "evals": [{"id": 7, "prompt": "draw", "expected_output": "a chart", key: ["it is an SVG"]}]}
    (case,) = read_cases(eval_files(evals__evals=document))
    assert (case.name, case.id, case.prompt, case.expected) == ("eval-7", "7", "draw", "a chart")
    assert [claim.text for claim in case.assertions] == ["it is an SVG"]


def test_an_assertion_may_name_the_command_that_checks_it() -> None:
    claim = {"text": "it is an SVG", "command": "evals/check.py 'out file.svg' --strict"}
    document = json.dumps([{"prompt": "draw", "assertions": [claim]}]).encode()
    (case,) = read_cases(MemoryFiles({"SKILL.md": b"", "evals/evals.json": document, "evals/check.py": b""}))
    assert case.assertions[0].command == ("evals/check.py", "out file.svg", "--strict")


def test_a_name_becomes_a_folder_that_stays_where_it_is_put() -> None:
    (case,) = read_cases(eval_files(evals__evals=[{"id": "../../Etc Passwd", "prompt": "draw"}]))
    assert case.name == "etc-passwd"


def test_a_task_may_use_files_of_the_skill() -> None:
    (case,) = read_cases(eval_files(evals__evals=[{"prompt": "draw", "files": ["./SKILL.md"]}]))
    assert case.files == ("SKILL.md",)


WRONG: list[tuple[Any, str]] = [
    (b"", "line 1 is not JSON"),
    (b"\xff\xfe[]", "is not UTF-8"),
    (b"[" * 200_000, "is nested too deeply"),
    (b'[{"query": "a", "should_trigger": NaN}]', "NaN is not a JSON value"),
    (b"[" + b"1" * 5_000 + b"]", "is not JSON"),
    (b'{"query": "a"}', "is not a list"),
    (b'"text"', "is not a list"),
    ([1], "entry 1 is a number, not an object"),
    ([{"query": "a"}], "entry 1: should_trigger is missing, not true or false"),
    ([{"query": "a", "should_trigger": "yes"}], "entry 1: should_trigger is a text, not true or false"),
    ([{"query": "", "should_trigger": True}], "entry 1: query is empty"),
    ([{"should_trigger": True}], "entry 1: query is missing"),
    ([{"query": ["a"], "should_trigger": True}], "entry 1: query is a list, not a text"),
    ([{"query": "a" * 20_001, "should_trigger": True}], "longer than 20,000 characters"),
    ([{"query": "a", "should_trigger": True}] * 1_001, "has 1,001 entries"),
    ([{"query": "a", "should_trigger": True}, {"query": "a", "should_trigger": False}], "entry 2 contradicts"),
]


@pytest.mark.parametrize(("document", "sentence"), WRONG, ids=[sentence for _, sentence in WRONG])
def test_an_invalid_query_file_is_reported_in_one_sentence(document: Any, sentence: str) -> None:
    with pytest.raises(EvalFileError) as raised:
        read_queries(eval_files(evals__eval_queries=document))
    assert str(raised.value).startswith("evals/eval_queries.json: ")
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)
    assert raised.value.hint


WRONG_TASKS: list[tuple[Any, str]] = [
    ({"prompt": ""}, "prompt is empty"),
    ({"prompt": "a", "id": [1]}, "id is a list, not a number or a text"),
    ({"prompt": "a", "id": True}, "id is true or false, not a number"),
    ({"prompt": "a", "assertions": "b"}, "assertions is a text, not a list"),
    ({"prompt": "a", "assertions": [7]}, "an assertion is a number"),
    ({"prompt": "a", "assertions": [{"command": "x"}]}, "text is missing"),
    ({"prompt": "a", "assertions": [{"text": "b", "command": "'x"}]}, "has no closing quotation"),
    ({"prompt": "a", "assertions": [{"text": "b", "command": 1}]}, "a command is a number"),
    ({"prompt": "a", "assertions": [{"text": "b", "command": "evals/check.py a"}]}, "the skill has no file 'evals/check.py'"),
    ({"prompt": "a", "files": "x.csv"}, "files is a text, not a list of paths"),
    ({"prompt": "a", "files": ["x.csv"]}, "the skill has no file 'x.csv'"),
]


@pytest.mark.parametrize(("row", "sentence"), WRONG_TASKS, ids=[sentence for _, sentence in WRONG_TASKS])
def test_an_invalid_task_is_reported_in_one_sentence(row: dict[str, Any], sentence: str) -> None:
    with pytest.raises(EvalFileError, match=r"^evals/evals.json: entry 1") as raised:
        read_cases(eval_files(evals__evals=[row]))
    assert sentence in str(raised.value)


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "a\x00b"])
def test_a_task_cannot_use_a_file_from_elsewhere(path: str) -> None:
    with pytest.raises(MetierError):
        read_cases(eval_files(evals__evals=[{"prompt": "a", "files": [path]}]))


def test_two_tasks_of_one_name_are_an_error() -> None:
    with pytest.raises(EvalFileError, match="entry 2 has the same name as another entry, 'eval-1'"):
        read_cases(eval_files(evals__evals=[{"id": 1, "prompt": "a"}, {"id": "1", "prompt": "b"}]))


def test_a_lopsided_set_is_noted() -> None:
    rows = [{"query": f"plot {number}", "should_trigger": True} for number in range(9)]
    assert balance(read_queries(eval_files(evals__eval_queries=rows))) == (
        "no queries should not trigger; a test needs 8 or more of each kind",
    )


def test_a_file_of_another_skill_is_noted() -> None:
    files = eval_files(evals__evals={"skill_name": "cook", "evals": []}, evals={"skill_name": "plot", "evals": []})
    assert meant_for_others(files, "plot") == ("evals/evals.json names another skill, 'cook'",)
    queries = eval_files(evals__eval_queries={"skill_name": "cook", "queries": ASKED})
    assert meant_for_others(queries, "plot") == ("evals/eval_queries.json names another skill, 'cook'",)
    assert meant_for_others(eval_files(evals__evals=[]), "plot") == ()
