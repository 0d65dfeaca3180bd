"""Results as JUnit XML, for CI servers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from .skill_tests import SkillTestResult, SkillTestStatus
from .triggers import TriggerReport

__all__ = ["junit_tests", "junit_triggers"]

_TAGS = {SkillTestStatus.FAILED: "failure", SkillTestStatus.ERROR: "error", SkillTestStatus.SKIPPED: "skipped"}


def junit_tests(results: Sequence[SkillTestResult]) -> str:
    """One suite for each skill, one class for each file."""
    root = Element("testsuites", name="metier skill test")
    for skill, group in groupby(results, key=lambda one: one.skill):
        suite = SubElement(root, "testsuite", name=skill)
        rows = list(group)
        for one in rows:
            case = _case(suite, f"{skill}.{one.file}", one.name or one.file, one.seconds)
            if one.line:
                case.set("line", str(one.line))
            case.set("file", one.file)
            if one.status is not SkillTestStatus.PASSED:
                _mark(case, _TAGS[one.status], one.message)
        _count(suite, [one.status for one in rows], sum(one.seconds for one in rows))
    return _written(root)


def junit_triggers(reports: Sequence[TriggerReport]) -> str:
    """One suite for each skill, one case for each request."""
    root = Element("testsuites", name="metier skill eval")
    for report in reports:
        suite = SubElement(root, "testsuite", name=report.skill)
        for row in report.rows:
            kind = "should trigger" if row.should_trigger else "should not trigger"
            case = _case(suite, f"{report.skill}.{kind}", row.query, 0.0)
            if not row.passed:
                winner = row.choice.winner or "nothing"
                _mark(case, "failure", f"selected {winner}: {row.choice.why}\n{report.skill}: {row.choice.own}")
        _count(suite, [SkillTestStatus.PASSED if row.passed else SkillTestStatus.FAILED for row in report.rows], 0.0)
    return _written(root)


def _case(suite: Element, group: str, name: str, seconds: float) -> Element:
    return SubElement(suite, "testcase", classname=_legal(group), name=_legal(" ".join(name.split())), time=f"{seconds:.3f}")


def _mark(case: Element, tag: str, message: str) -> None:
    mark = SubElement(case, tag, message=_legal(_headline(message)[:200]))
    mark.text = _legal(message)


def _headline(message: str) -> str:
    """The line that a list of failures shows: the kind of a difference, or the error of pytest's report."""
    first, *more = message.split("\n")
    if first == "--- expected":
        return "the output differs from the expected one"
    return next((line[1:].strip() for line in (first, *more) if line.startswith("E ")), first)


def _count(suite: Element, statuses: Sequence[SkillTestStatus], seconds: float) -> None:
    counts = {"failures": SkillTestStatus.FAILED, "errors": SkillTestStatus.ERROR, "skipped": SkillTestStatus.SKIPPED}
    suite.set("tests", str(len(statuses)))
    for name, status in counts.items():
        suite.set(name, str(sum(one is status for one in statuses)))
    suite.set("time", f"{seconds:.3f}")


def _legal(text: str) -> str:
    """Replaces the control characters that XML cannot hold, not even escaped."""
    return "".join(
        char
        if char in "\t\n" or (char >= " " and not "\ud800" <= char <= "\udfff" and char not in "\ufffe\uffff")
        else "\ufffd"
        for char in text
    )


def _written(root: Element) -> str:
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"
