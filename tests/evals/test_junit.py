"""JUnit XML that a CI server can read, whatever a test has printed."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from metier.evals.files import TriggerQuery
from metier.evals.junit import junit_tests, junit_triggers
from metier.evals.skill_tests import SkillTestResult, SkillTestStatus
from metier.evals.triggers import JudgeChoice, run_triggers
from metier.testing import run_now


def trial(name: str, status: SkillTestStatus, message: str = "") -> SkillTestResult:
    return SkillTestResult(skill="a", file="tests/x.md", name=name, status=status, message=message, seconds=0.5, line=3)


def test_every_status_is_reported_and_counted() -> None:
    rows = [trial(status, status, "why" if status is not SkillTestStatus.PASSED else "") for status in SkillTestStatus]
    root = ET.fromstring(junit_tests(rows))
    suite = root[0]
    assert {key: suite.get(key) for key in ("name", "tests", "failures", "errors", "skipped")} == {
        "name": "a", "tests": "4", "failures": "1", "errors": "1", "skipped": "1",
    }  # fmt: skip
    assert [[mark.tag for mark in case] for case in suite] == [[], ["failure"], ["error"], ["skipped"]]
    assert suite[1][0].text == "why"


def test_characters_that_xml_does_not_allow_are_replaced() -> None:
    root = ET.fromstring(junit_tests([trial("<&\"'>\x1b[2J\ud800", SkillTestStatus.FAILED, "\x00\uffff]]>")]))
    assert root[0][0].get("name") == "<&\"'>\ufffd[2J\ufffd"
    assert root[0][0][0].text == "\ufffd\ufffd]]>"


def test_a_failed_request_names_the_selected_skill() -> None:
    class Other:
        name, deterministic = "other", True

        async def __call__(self, query: str) -> JudgeChoice:
            return JudgeChoice(triggered=False, winner="rival", why="more words", own="place 2")

    queries = [TriggerQuery(text="plot", should_trigger=True), TriggerQuery(text="cook", should_trigger=False)]
    root = ET.fromstring(junit_triggers([run_now(run_triggers("charts", queries, Other()))]))
    first, second = root[0]
    assert "selected rival: more words" in (first[0].text or "")
    assert list(second) == []


def test_a_list_of_failures_shows_the_error_and_not_the_way_to_it() -> None:
    rows = [
        trial("page", SkillTestStatus.FAILED, "--- expected\n+++ printed\n@@ -1 +1 @@\n-3\n+2"),
        trial(
            "code",
            SkillTestStatus.FAILED,
            "def test_it():\n>       assert 1 == 2\nE       assert 1 == 2\n\ntests/x.py:2: AssertionError",
        ),
        trial("other", SkillTestStatus.ERROR, "it was stopped after 2 s"),
    ]
    marks = [case[0].get("message") for case in ET.fromstring(junit_tests(rows))[0]]
    assert marks == ["the output differs from the expected one", "assert 1 == 2", "it was stopped after 2 s"]
