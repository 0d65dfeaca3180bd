"""The question about an action: the exact command line or code, with nothing left out or rearranged."""

from __future__ import annotations

from metier.cli.core.approval import question_lines
from metier.runtime import Question, ToolRequest, tool_request


def lines(request: ToolRequest, skill: str = "review") -> tuple[str, ...]:
    return question_lines(Question(skill=skill, digest="d", request=request, reason="policy.tools: ask"))


def test_the_question_about_packages_lists_all_of_them_without_control_characters() -> None:
    details = ("polars 2.1.0", "rich 15.0\x1b[31m", "shout 1.0")
    shown = lines(ToolRequest(tool="Packages", argument="sha256:aa", details=details), "frame")
    assert shown[0] == "frame wants to fetch these packages, once for all runs (policy.tools: ask)"
    assert [line.split()[0] for line in shown[1:]] == ["polars", "rich", "shout"]
    assert "\x1b" not in "".join(shown)


def test_a_plain_command_is_shown_as_words() -> None:
    assert lines(tool_request("Bash", "git log -3")) == (
        "review wants to use Bash(git log -3) (policy.tools: ask)",
        "  $ git log -3",
    )


def test_a_line_with_syntax_is_shown_as_it_is_line_by_line() -> None:
    assert lines(tool_request("Bash", "make &&\nrm -rf out\x1b[2K")) == (
        "review wants to use Bash (policy.tools: ask)",
        "  $ make &&",
        "    rm -rf out\\x1b[2K",
    )


def test_code_is_shown_in_full_and_the_model_asks_where_no_skill_is_active() -> None:
    assert lines(ToolRequest(tool="Python", argument="import os\nos.remove('x')\n"), skill="") == (
        "the model wants to use Python (policy.tools: ask)",
        "  $ import os",
        "    os.remove('x')",
    )


def test_a_file_is_named_in_the_question() -> None:
    assert lines(ToolRequest(tool="Write", argument="a.md")) == ("review wants to use Write(a.md) (policy.tools: ask)",)
