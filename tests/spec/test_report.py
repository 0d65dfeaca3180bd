"""One way to say that something is wrong."""

from __future__ import annotations

import pytest

from metier.spec import Problem, Report, Severity


def found(
    code: str = "SK101",
    severity: Severity = Severity.ERROR,
    *,
    file: str = "SKILL.md",
    line: int | None = None,
    column: int | None = None,
) -> Problem:
    return Problem(code=code, severity=severity, message="something", file=file, line=line, column=column)


def test_severities_rank_from_info_to_error() -> None:
    assert sorted(Severity, key=lambda severity: severity.rank) == [Severity.INFO, Severity.WARNING, Severity.ERROR]


@pytest.mark.parametrize(
    ("problem", "where"),
    [(found(), "SKILL.md"), (found(line=3), "SKILL.md:3"), (found(line=3, column=7, file="a/b.md"), "a/b.md:3:7")],
)
def test_a_problem_says_where_it_is(problem: Problem, where: str) -> None:
    assert problem.where == where


def test_a_report_is_in_the_order_of_files_lines_columns_and_codes() -> None:
    late, early = found("SK102", line=9), found("SK101", line=2, column=5)
    same_place = found("SK100", line=2, column=5)
    other_file, whole_file = found(file="a.md", line=99), found("SK001")
    report = Report.of([late, early, same_place, other_file, whole_file])
    assert report.problems == (whole_file, same_place, early, late, other_file)


def test_a_report_is_ok_without_errors() -> None:
    assert Report().ok
    assert Report.of([found(severity=Severity.WARNING), found(severity=Severity.INFO)]).ok
    assert not Report.of([found()]).ok


def test_a_report_sorts_errors_from_warnings() -> None:
    error, warning, info = (found(severity=severity) for severity in Severity)
    report = Report.of([error, warning, info])
    assert (report.errors, report.warnings, len(report)) == ((error,), (warning,), 3)


def test_reports_add_up_in_order() -> None:
    assert (Report.of([found(line=2)]) + Report.of([found(line=1)])).problems == (found(line=1), found(line=2))


def test_a_report_can_be_walked_through() -> None:
    assert list(Report.of([found(line=1)])) == [found(line=1)]


def test_a_report_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match=r"use Report\.ok"):
        bool(Report())
