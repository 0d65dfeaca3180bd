"""The lines of an approval question."""

from __future__ import annotations

from metier.cli.core.approval import question_lines
from metier.runtime import Question, ToolRequest


def test_the_question_about_packages_lists_all_of_them_without_control_characters() -> None:
    details = ("polars 2.1.0", "rich 15.0\x1b[31m", "shout 1.0")
    request = ToolRequest(tool="Packages", argument="sha256:aa", details=details)
    lines = question_lines(Question(skill="frame", digest="", request=request, reason="policy.packages: ask"))
    assert lines[0] == "frame wants to fetch these packages, once for all runs (policy.packages: ask)"
    assert [line.split()[0] for line in lines[1:]] == ["polars", "rich", "shout"]
    assert "\x1b" not in "".join(lines)
